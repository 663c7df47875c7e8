package grants

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/policy"
)

// Where HOME says nothing, the home directory is still no place that nobody chose, and what jphost keeps there is
// not written to.
func TestGrantsWithoutHOME(t *testing.T) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !isDir(u.HomeDir) || u.HomeDir == "/" {
		t.Skip("the user of the tests has no home directory of their own")
	}
	t.Chdir(u.HomeDir)
	p := &Process{Ctx: context.Background(), Environ: []string{"PATH=/usr/bin"}}
	if _, err := (&Flags{}).compile(p); err == nil || !strings.Contains(err.Error(), "nothing says what the program may do") {
		t.Errorf("without grants in the home directory: %v", err)
	}
	given, err := (&Flags{RW: []string{"."}}).compile(p)
	if err != nil {
		t.Fatal(err)
	}
	var protected []string
	for _, r := range given.declared.Rules {
		if r.Origin == policy.SelfProtection {
			protected = append(protected, r.Text)
		}
	}
	for _, want := range []string{".config/jphost", ".local/share/jphost"} {
		if !strings.Contains(strings.Join(protected, "\n"), want) {
			t.Errorf("%s is not protected: %q", want, protected)
		}
	}
}

// A HOME that no configuration is looked for in says nothing of where the user's own lies.
func TestHomeThatIsNoAbsolutePath(t *testing.T) {
	want := (&Process{}).housed().Getenv("HOME")
	if !filepath.IsAbs(want) {
		t.Skip("the user of the tests has no home directory of their own")
	}
	for home, want := range map[string]string{"": want, "relative": want, "./x": want, "/a/b": "/a/b"} {
		if got := (&Process{Environ: []string{"HOME=" + home}}).housed().Getenv("HOME"); got != want {
			t.Errorf("HOME=%s: %q, want %q", home, got, want)
		}
	}
}
