package config

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/settings"
)

var update = flag.Bool("update", false, "write the messages that came into testdata/wrong.txt; read every one before sending it")

type wrongCase struct{ name, input, want string }

// readWrong reads testdata/wrong.txt: `=== name`, the file, `---`, the whole message.
func readWrong(t *testing.T) []wrongCase {
	t.Helper()
	data, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []wrongCase
	for block := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		name, rest, ok := strings.Cut(block, "\n")
		if !ok || name == "" {
			continue
		}
		input, want, _ := strings.Cut(rest, "\n---\n")
		cases = append(cases, wrongCase{name, input, strings.TrimSuffix(want, "\n")})
	}
	return cases
}

// Every wrong file gives exactly its messages: place, key, what is wrong, what to do.
// The file is the workspace's, over the built-in layer of helper_test.go.
func TestWrongConfigs(t *testing.T) {
	cases := readWrong(t)
	if len(cases) < 40 {
		t.Fatalf("%d cases in testdata/wrong.txt; want at least 40", len(cases))
	}
	var out strings.Builder
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got := "(no error)"
			c, err := Load(options(t, files{workspaceFile: tt.input + "\n"}))
			if err != nil {
				got = err.Error()
				var list settings.Errors
				if !errors.As(err, &list) || len(list) == 0 {
					t.Errorf("not an Errors: %T", err)
				}
				for _, p := range list {
					if p.Help == "" {
						t.Errorf("no remedy in %v", p)
					}
				}
			}
			if c != nil && err != nil {
				t.Error("a configuration came along with the error")
			}
			if got != tt.want && !*update {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			out.WriteString("=== " + tt.name + "\n" + tt.input + "\n---\n" + got + "\n")
		})
	}
	if *update {
		if err := os.WriteFile("testdata/wrong.txt", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
