package consent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
)

// What a conversation wrote is kept by path, the latest files only, and a file that cannot be read says nothing.
func TestWritten(t *testing.T) {
	dir := statetest.Dir(t, t.TempDir(), nil)
	w := consent.OpenWritten(dir)
	if got := w.List(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	must(t, w.Note(ctx, map[string]string{"a": "sha256:1", "b": "sha256:2"}))
	must(t, w.Note(ctx, map[string]string{"a": "sha256:3", "b": "", "never": ""}))
	if diff := cmp.Diff(map[string]string{"a": "sha256:3"}, w.List()); diff != "" {
		t.Error(diff)
	}
	for i := range 600 {
		must(t, w.Note(ctx, map[string]string{fmt.Sprintf("f%d", i): "sha256:4"}))
	}
	if got := w.List(); len(got) != 500 || got["a"] != "" || got["f599"] == "" {
		t.Errorf("%d files", len(got))
	}
	must(t, dir.Write("written.json", []byte("{")))
	if got := w.List(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	must(t, w.Note(ctx, map[string]string{"a": "sha256:5"}))
	if got := w.List(); got["a"] != "sha256:5" {
		t.Errorf("%v", got)
	}
}

// The question about a script shows how it differs from the one that was accepted, as long as that is kept.
func TestScriptsAreKept(t *testing.T) {
	dir := statetest.Dir(t, t.TempDir(), nil)
	trust := consent.OpenTrust(dir, nil)
	script := func(digest, text string) consent.Setting {
		s := setting("conversation.tools.lint.command", digest, 3)
		s.Runs, s.Text = "lint.sh", text
		return s
	}
	must(t, trust.Accept(ctx, []consent.Setting{script("sha256:1", "one\ntwo\n")}))
	_, d, err := trust.Check(ctx, []consent.Setting{script("sha256:2", "one\nthree\n")})
	must(t, err)
	q := d.Question()
	if q.Prompt != "Let lint run lint.sh as it is now?" || !strings.Contains(q.Quoted, "\n one\n-two\n+three\n") || q.Default == nil || *q.Default {
		t.Errorf("%+v", q)
	}
	if strings.Contains(d.String(), "three") || !strings.Contains(d.Full(), "+three") {
		t.Errorf("%s%s", d, d.Full())
	}
	// With something else beside it, all of it is one question.
	_, d, err = trust.Check(ctx, []consent.Setting{script("sha256:2", "one\nthree\n"), setting("conversation.tools.lint.run", `"unattended"`, 4)})
	must(t, err)
	if q := d.Question(); q.Prompt != "Accept these 2 settings of .jp/config.toml?" || !strings.Contains(q.Quoted, "+three") {
		t.Errorf("%+v", q)
	}
	// Without a copy there are two digests: too long a text, and a file of copies that is lost.
	must(t, trust.Accept(ctx, []consent.Setting{script("sha256:3", strings.Repeat("x", consent.MaxScript+1))}))
	_, d, err = trust.Check(ctx, []consent.Setting{script("sha256:4", "x")})
	must(t, err)
	if q := d.Question(); !strings.Contains(q.Quoted, "was: sha256:3") || !strings.Contains(q.Quoted, "now: sha256:4") {
		t.Errorf("%+v", q)
	}
	must(t, dir.Write("scripts.json", []byte("{")))
	trusted, _, err := trust.Check(ctx, []consent.Setting{script("sha256:3", "x")})
	if must(t, err); !trusted {
		t.Error("what was accepted is not any more, because a copy is lost")
	}
}
