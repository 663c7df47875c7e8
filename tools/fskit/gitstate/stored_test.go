package gitstate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that index and HEAD have is lost all the same if its content is missing or damaged in the object store.
func TestMissingContentIsNotClean(t *testing.T) {
	object := func(g gitRepo, id string) string { return filepath.Join(g.dir, ".git/objects", id[:2], id[2:]) }
	for name, damage := range map[string]func(g gitRepo, id string){
		"missing": func(g gitRepo, id string) { g.must(os.Remove(object(g, id))) },
		"empty":   func(g gitRepo, id string) { overwrite(g, object(g, id), nil) },
		"garbage": func(g gitRepo, id string) { overwrite(g, object(g, id), []byte("garbage")) },
		"cut": func(g gitRepo, id string) {
			data, err := os.ReadFile(object(g, id))
			g.must(err)
			overwrite(g, object(g, id), data[:len(data)-5])
		},
		"another": func(g gitRepo, id string) {
			other := strings.TrimSpace(g.input("other", "hash-object", "-w", "--stdin"))
			data, err := os.ReadFile(object(g, other))
			g.must(err)
			overwrite(g, object(g, id), data)
		},
		"damaged in a pack": func(g gitRepo, id string) {
			g.git("gc", "-q")
			pack := strings.TrimSuffix(onePack(g), ".idx")
			list := g.git("verify-pack", "-v", pack+".idx")
			_, line, _ := strings.Cut(list, id)
			var kind string
			var size, packed, offset int64
			if _, err := fmt.Sscan(line, &kind, &size, &packed, &offset); err != nil || kind != "blob" {
				g.Fatalf("%v in %q", err, list)
			}
			data, err := os.ReadFile(pack + ".pack")
			g.must(err)
			data[offset+packed/2] ^= 0xff
			overwrite(g, pack+".pack", data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := realTemp(t)
			g := initRepo(t, root)
			g.write("f", strings.Repeat("content of f\n", 100))
			g.commit("1")
			check(t, root, "", map[string]State{"f": Clean})
			id := strings.TrimSpace(g.git("rev-parse", "HEAD:f"))
			damage(g, id)
			if got := Status(t.Context(), dirFS{root: root}, "f", Options{}); got.State != Unknown {
				t.Errorf("%+v", got)
			}
		})
	}
	for name, damage := range map[string]func(g gitRepo, id string){
		"missing": func(g gitRepo, id string) { g.must(os.Remove(object(g, id))) },
		"empty":   func(g gitRepo, id string) { overwrite(g, object(g, id), nil) },
	} {
		t.Run("counted, "+name, func(t *testing.T) {
			root := realTemp(t)
			g := initRepo(t, root)
			g.write("d/f", "content")
			g.commit("1")
			if got := CountDirty(t.Context(), dirFS{root: root}, "d", 0, Options{}); got.Any() {
				t.Fatalf("before: %+v", got)
			}
			damage(g, strings.TrimSpace(g.git("rev-parse", "HEAD:d/f")))
			if got := CountDirty(t.Context(), dirFS{root: root}, "d", 0, Options{}); !got.Unknown {
				t.Errorf("%+v", got)
			}
		})
	}
}

func overwrite(g gitRepo, path string, data []byte) {
	g.Helper()
	g.must(os.Remove(path)) // it is read-only
	g.must(os.WriteFile(path, data, 0o444))
}

// Content is found wherever git puts it: loose or packed, whole or as a delta, larger than any tree.
func TestContentIsFoundInEveryForm(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	text := make([]string, 3000)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = fmt.Sprint(rnd.Uint64())
	}
	g.write("empty", "")
	g.write("large", strings.Repeat("x", maxObject+1))
	for i := range 6 {
		text[100*i] = "changed"
		g.write(fmt.Sprintf("delta%d", i), strings.Join(text, "\n"))
		g.write("history", strings.Join(text[i:], "\n"))
		g.commit("next")
	}
	want := map[string]State{"empty": Clean, "large": Clean, "history": Clean}
	for i := range 6 {
		want[fmt.Sprintf("delta%d", i)] = Clean
	}
	check(t, root, "", want)
	g.git("-c", "gc.auto=0", "repack", "-adfq")
	check(t, root, "", want)
	if got := CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{}); got.Any() {
		t.Errorf("%+v", got)
	}
}
