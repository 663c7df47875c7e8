package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/exit"
)

// However long a repository's file takes to be read, an interrupt ends the command.
func TestInterruptWhileReadingTheConfiguration(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("[conversation.tools.t]\nsource = 'local'\ncommand = 'x'\naccess.fs = [")
	for i := range 90_000 {
		fmt.Fprintf(&b, "{ path = 'a%d', read = true }, ", i)
	}
	b.WriteString("]\n")
	if err := os.WriteFile(filepath.Join(top, ".jp.toml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"HOME=" + top, "XDG_DATA_HOME=" + top + "/data"}
	for _, args := range []string{"tools", "trust show", "config check", "run t"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		start := time.Now()
		err := Run(ctx, environ, nil, io.Discard, io.Discard, append([]string{"-C", top}, strings.Fields(args)...))
		took := time.Since(start)
		cancel()
		if exit.Of(err) != exit.Interrupted || took > 3*time.Second {
			t.Errorf("%s: after %v: %v", args, took, err)
		}
	}
}
