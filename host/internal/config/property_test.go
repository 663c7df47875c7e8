package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type drawnLayer struct {
	paths    []string
	strategy string
	dedup    string
	discard  bool
}

func (l drawnLayer) toml() string {
	var items []string
	for _, p := range l.paths {
		items = append(items, fmt.Sprintf("{ path = %q }", p))
	}
	list := "[" + strings.Join(items, ", ") + "]"
	if l.strategy == "" {
		return "conversation.tools.x.access.fs = " + list
	}
	s := fmt.Sprintf("conversation.tools.x.access.fs = { value = %s, strategy = %q", list, l.strategy)
	if l.dedup != "" {
		s += ", dedup = " + l.dedup
	}
	if l.discard {
		s += ", discard_when_merged = true"
	}
	return s + " }"
}

func drawLayer(t *rapid.T, name string) drawnLayer {
	l := drawnLayer{
		paths:    rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(t, name),
		strategy: rapid.SampledFrom([]string{"", "", "append", "prepend", "replace"}).Draw(t, name+" strategy"),
	}
	if l.strategy != "" {
		l.dedup = rapid.SampledFrom([]string{"", "true", "false", `"inherit"`}).Draw(t, name+" dedup")
		l.discard = rapid.IntRange(0, 4).Draw(t, name+" discard") == 0
	}
	return l
}

// model is the merging of rules in a few lines, on plain strings, with the last duplicate kept.
func model(layers []drawnLayer) []string {
	var out []string
	dedup, discard := false, false
	for _, l := range layers {
		if discard {
			out = nil
		}
		switch l.strategy {
		case "prepend":
			out = slices.Concat(l.paths, out)
		case "replace":
			out = slices.Clone(l.paths)
		default:
			out = slices.Concat(out, l.paths)
		}
		if l.dedup == "true" || l.dedup == "false" {
			dedup = l.dedup == "true"
		}
		if dedup {
			var kept []string
			for i, p := range out {
				if !slices.Contains(out[i+1:], p) {
					kept = append(kept, p)
				}
			}
			out = kept
		}
		discard = l.discard
	}
	return out
}

// TestMergeProperties holds merging to the model, and to three words of it: it is
// deterministic, replace forgets, append keeps the order.
func TestMergeProperties(t *testing.T) {
	places := []string{userFile, workspaceFile, "/ws/.jp.toml", dataFile, talkFile}
	rapid.Check(t, func(rt *rapid.T) {
		var layers []drawnLayer
		f := files{}
		for i := range rapid.IntRange(1, len(places)).Draw(rt, "layers") {
			l := drawLayer(rt, fmt.Sprintf("layer %d", i))
			layers = append(layers, l)
			f[places[i]] = l.toml()
		}
		paths := func(c *Config) []string {
			var got []string
			for _, r := range mustTool(t, c, "x").Access.FS {
				got = append(got, r.Path)
			}
			return got
		}
		render := func(c *Config) string {
			text, err := c.Render(Rendering{Origins: true, All: true})
			if err != nil {
				rt.Fatal(err)
			}
			return string(text)
		}
		c := load(t, f)
		got := paths(c)
		if want := model(layers); !slices.Equal(got, want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
		if again := load(t, f); render(c) != render(again) {
			rt.Fatal("two loads of the same files differ")
		}
		last := layers[len(layers)-1]
		if last.strategy == "replace" && last.dedup != "true" && len(got) > len(last.paths) {
			rt.Fatalf("replace kept something: %q", got)
		}
		if p := mustTool(t, c, "x").Access.Policy(); len(p.FS) == 0 {
			rt.Fatal("a declared list opened everything")
		}
	})
}
