package consent

import (
	"context"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
)

const (
	// MaxScript is how many bytes of a script are kept at most, and maxScripts how many scripts, the latest ones.
	MaxScript  = 64 << 10
	maxScripts = 64
)

// scripts keeps what people accepted of the scripts of a workspace, to show how a new one differs. What is lost is
// shown as two digests.
type scripts struct{ f records[script] }

type script struct {
	Digest string `json:"digest"`
	Text   string `json:"text"`
}

func openScripts(dir *state.Dir) scripts {
	return scripts{records[script]{
		dir: dir, name: "scripts.json", key: "scripts", help: "remove the file: then changes of scripts are shown as digests",
		mend: func(*brokenError) error { return nil },
	}}
}

// texts are the texts by digest.
func (s scripts) texts() map[string]string {
	_, list, err := s.f.read()
	if err != nil {
		return nil
	}
	texts := map[string]string{}
	for _, t := range list {
		texts[t.Digest] = t.Text
	}
	return texts
}

// keep adds the scripts among settings.
func (s scripts) keep(ctx context.Context, list []Setting) error {
	list = slices.DeleteFunc(slices.Clone(list), func(x Setting) bool {
		return x.Runs == "" || x.Text == "" || len(x.Text) > MaxScript
	})
	if len(list) == 0 {
		return nil
	}
	return s.f.update(ctx, func(kept []script) ([]script, bool) {
		for _, x := range list {
			kept = append(slices.DeleteFunc(kept, func(k script) bool { return k.Digest == x.Value }), script{x.Value, x.Text})
		}
		return kept[max(0, len(kept)-maxScripts):], true
	})
}

func (s scripts) forget(ctx context.Context) error {
	_, err := s.f.remove(ctx, func(script) bool { return true })
	return err
}

// scriptDiff is the difference between two contents of a script; "" if one of them is not known.
func (c Change) scriptDiff() string {
	if c.Now.Runs == "" || c.Was.Text == "" || c.Now.Text == "" {
		return ""
	}
	name := show.Visible(c.Now.Runs)
	text := udiff.Unified(name, name, c.Was.Text, c.Now.Text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
