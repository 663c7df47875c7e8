package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/settings"
)

// A file of the repository cannot make every command hang: what it takes to read it, or to say what is wrong
// with it, grows with its length and not with the square of it.
func TestLargeFilesAreReadInTime(t *testing.T) {
	const tool = "[conversation.tools.t]\nsource = \"local\"\ncommand = \"x\"\n"
	each := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const most = 10 * time.Second // the square took minutes
	for name, text := range map[string]string{
		"tools without a source":  each(60_000, "[conversation.tools.t%d]\n"),
		"fewer of them":           each(9_000, "[conversation.tools.t%d]\n"),
		"tools":                   each(9_000, "[conversation.tools.t%d]\nsource = 'local'\ncommand = 'x'\n"),
		"too many tools":          each(60_000, "[conversation.tools.t%d]\nsource = 'local'\ncommand = 'x'\n"),
		"misspelt keys":           each(9_000, "[conversation.tools.t%d]\nsource = 'local'\ncommand = 'x'\nrunn = 3\n"),
		"parameters":              tool + "[conversation.tools.t.parameters]\n" + each(9_000, "p%d = { type = 'string' }\n"),
		"too many parameters":     tool + "[conversation.tools.t.parameters]\n" + each(60_000, "p%d = { type = 'string' }\n"),
		"unknown keys":            each(60_000, "k%d = 1\n"),
		"rules on one line":       tool + "access.env = [" + each(60_000, "{ name = 'a%d', read = true }, ") + "]\n",
		"words on one line":       tool + "access.sensitive_paths = [" + each(200_000, "'%d', ") + "]\n",
		"a list of what is wrong": tool + "access.fs = [" + each(60_000, "{ path = '/x%d' }, ") + "]\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, DirectoryFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err := Load(Options{Root: root, Cwd: root})
			if took := time.Since(start); took > most {
				t.Errorf("it took %v", took)
			}
			if list := settings.Errors(nil); errors.As(err, &list) && (len(list) > settings.MaxProblems+1 || len(list) > settings.MaxProblems && !strings.HasSuffix(list[settings.MaxProblems].Error(), "more problems are not listed")) {
				t.Errorf("%d problems, the last of them: %v", len(list), list[len(list)-1])
			}
			if valid := map[string]bool{"tools": true, "parameters": true, "rules on one line": true, "words on one line": true}[name]; valid != (err == nil) {
				t.Errorf("valid: %v, got %.200v", valid, err)
			}
		})
	}
}
