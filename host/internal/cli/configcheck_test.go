package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/exit"
)

// Editors and agents take what is wrong apart without reading the text for people.
func TestConfigCheckAsData(t *testing.T) {
	type at struct {
		File         string
		Line, Column int
		Key          string
		Message      string
		Hint         string
	}
	type report struct {
		OK       *bool
		Errors   []at
		Exit     int
		Layers   int
		Tools    int
		Trusted  *bool
		Warnings []struct{ Origin, Message, Help string }
	}
	read := func(stdout string) (r report) {
		t.Helper()
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.OK == nil || strings.Count(stdout, "\n") != 1 {
			t.Fatalf("%v: %s", err, stdout)
		}
		return r
	}
	const wrong = "[tools.fs_read_file]\nrun = 'ask'\n\n[conversation.tools.fs_list_files]\nrnu = 'ask'\n"
	for _, flags := range []string{"--json", "--format json"} {
		args := append([]string{"config", "check"}, strings.Fields(flags)...)
		stdout, stderr, err := runCommand(t, map[string]string{".jp/config.toml": wrong}, args...)
		r := read(stdout)
		for i := range r.Errors {
			r.Errors[i].File = filepath.Base(r.Errors[i].File)
		}
		want := []at{
			{"config.toml", 1, 2, "tools", "unknown key", "did you mean conversation.tools.fs_read_file?"},
			{"config.toml", 5, 1, "conversation.tools.fs_list_files.rnu", "unknown key", "did you mean run?"},
		}
		if diff := cmp.Diff(want, r.Errors); diff != "" || *r.OK || r.Exit != 2 || exit.Of(err) != exit.Usage {
			t.Errorf("%s: %s%v %s", flags, diff, err, stdout)
		}
		if !strings.Contains(stderr, "config.toml:5:1: ") {
			t.Errorf("%s: standard error: %s", flags, stderr)
		}

		// What only compiling a policy shows is data too.
		r = read(first(runCommand(t, nil, append(args, "--cfg", `conversation.tools.fs_list_files.access.fs:=[{"path":"../up","read":true}]`)...)))
		if *r.OK || len(r.Errors) != 1 || r.Errors[0].Key != "conversation.tools.fs_list_files.access.fs[0].path" || r.Errors[0].File == "" {
			t.Errorf("%s: %+v", flags, r)
		}

		stdout, _, err = runCommand(t, map[string]string{".jp/config.toml": "[conversation.tools.x]\nsource = 'local'\ncommand = 'not-there-at-all'\n"}, args...)
		r = read(stdout)
		if err != nil || !*r.OK || r.Layers != 2 || r.Tools != 8 || r.Trusted == nil || *r.Trusted || len(r.Warnings) != 1 {
			t.Fatalf("%s: %v: %s", flags, err, stdout)
		}
		if w := r.Warnings[0]; !strings.HasSuffix(w.Origin, "config.toml:3:1") || !strings.Contains(w.Message, "cannot be started") || w.Help == "" {
			t.Errorf("%s: %+v", flags, w)
		}
		if r = read(first(runCommand(t, nil, args...))); !*r.OK || !*r.Trusted || r.Warnings == nil {
			t.Errorf("%s: nothing configured: %+v", flags, r)
		}
	}
}

func first(stdout, _ string, _ error) string { return stdout }

// A configuration can be in order and still run nothing.
func TestConfigCheckSaysWhatWaits(t *testing.T) {
	const wait = "do not run until: jphost trust accept"
	_, stderr, err := runCommand(t, map[string]string{".jp/config.toml": "[conversation.tools.fs_delete_file]\nrun = 'unattended'\n"}, "config", "check")
	if err != nil || strings.Count(stderr, wait) != 1 {
		t.Errorf("%v: %s", err, stderr)
	}
	if _, stderr, err = runCommand(t, nil, "config", "check"); err != nil || strings.Contains(stderr, wait) {
		t.Errorf("%v: %s", err, stderr)
	}
}
