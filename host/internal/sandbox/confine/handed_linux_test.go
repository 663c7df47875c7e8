package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/jptool/jptooltest"
)

// What a cover withholds is not handed down, whatever its name looks like, and also when it has
// lost that name.
func TestHandedDown(t *testing.T) {
	for name, remove := range map[string]bool{"guide": false, "guide, removed": true, "guide (deleted)": false, "guide (deleted), removed": true} {
		t.Run(name, func(t *testing.T) {
			ws := jptooltest.OpenRoot(t)
			path := write(t, filepath.Join(ws, strings.TrimSuffix(name, ", removed")), "read me\n", 0o644)
			p := plan(t, sandbox.TierNamespace, ws)
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			control := sh(p, "cat")
			control.Stdin = file
			if res, err := run(t, p, control); err != nil || res.out != "read me" {
				t.Fatalf("the control: %v, %+v", err, res)
			}
			p.Covers = append(p.Covers, sandbox.Cover{Node: node(t, path), ReadOnly: true})
			if remove {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			cmd := sh(p, "cat")
			cmd.Stdin = file
			if res, err := run(t, p, cmd); err == nil || !strings.Contains(err.Error(), "which the rules withhold") {
				t.Errorf("%v, %+v", err, res)
			}
		})
	}
}
