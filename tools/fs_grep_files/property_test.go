package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit/walk"
)

type answered struct {
	Type, Content, Message string
	Data                   data
}

// call runs the tool in this process.
func call(t testing.TB, root string, arguments, options map[string]any) answered {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"context": map[string]any{"root": root, "action": "run"},
		"tool":    map[string]any{"name": "fs_grep_files", "arguments": arguments, "options": options},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	toolmain.Run(t.Context(), tool, toolmain.Streams{Stdin: bytes.NewReader(raw), Stdout: &out, Stderr: os.Stderr})
	var a answered
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	return a
}

// The text is that of the obvious program, whatever the limit, the context and the
// number of workers.
func TestAgainstTheObviousProgram(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	words := []string{"hit", "x", "y", "", "hit hit"}
	matches := 0
	rapid.Check(t, func(rt *rapid.T) {
		root := jptooltest.TempRoot(t)
		defer os.RemoveAll(root)
		files := map[string][]string{}
		for range rapid.IntRange(0, 10).Draw(rt, "files") {
			path := rapid.SampledFrom([]string{"", "a/", "b/", "a-b/", "a/c/"}).Draw(rt, "dir") + rapid.SampledFrom([]string{"f", "g", "h.go"}).Draw(rt, "name")
			lines := rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(rt, "lines")
			files[path] = lines
			text := strings.Join(lines, "\n")
			if len(lines) > 0 && (rapid.Bool().Draw(rt, "final line end") || lines[len(lines)-1] == "") {
				text += "\n"
			}
			full := filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
				rt.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
				rt.Fatal(err)
			}
		}
		around := rapid.IntRange(0, 3).Draw(rt, "context")
		most := rapid.SampledFrom([]int{1, 2, 3, 5, 8, 100}).Draw(rt, "max_results")
		want, total := obvious(files, around, most)
		matches += total
		for _, procs := range []int{1, 4} {
			runtime.GOMAXPROCS(procs)
			got := call(t, root, map[string]any{"pattern": "hit", "context": around, "max_results": most}, nil)
			text, _, _ := strings.Cut(got.Content, "\nNote: ")
			if total == 0 {
				if !strings.HasPrefix(text, "No matches found: ") {
					rt.Fatalf("got %q", text)
				}
				continue
			}
			if strings.TrimSuffix(text, "\n") != strings.TrimSuffix(want, "\n") || got.Data.TotalMatches != int64(total) {
				rt.Fatalf("%d workers: got %d\n%s\nwant %d\n%s", procs, got.Data.TotalMatches, text, total, want)
			}
		}
	})
	if matches == 0 {
		t.Error("nothing ever matched: the test says nothing")
	}
}

func obvious(files map[string][]string, around, most int) (string, int) {
	re := regexp.MustCompile("hit")
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, walk.Compare)
	var b strings.Builder
	total, shown := 0, 0
	for _, p := range paths {
		lines := files[p]
		show := make([]bool, len(lines))
		end := len(lines) // the first match that is not shown: context ends there
		any := false
		for i, line := range lines {
			if !re.MatchString(line) {
				continue
			}
			total++
			if shown == most {
				end = min(end, i)
				continue
			}
			shown++
			any = true
			for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
				show[j] = true
			}
		}
		for j := end; j < len(lines); j++ {
			show[j] = false
		}
		if !any {
			continue
		}
		if around > 0 && b.Len() > 0 {
			b.WriteString("--\n")
		}
		last := -1
		for i, line := range lines {
			if !show[i] {
				continue
			}
			if around > 0 && last >= 0 && i > last+1 {
				b.WriteString("--\n")
			}
			last = i
			mark := "-"
			if re.MatchString(line) {
				mark = ":"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", p, mark, i+1, mark, line)
		}
	}
	return b.String(), total
}

// A time limit that strikes when everything is listed is told all the same.
func TestDeadlineWhileSearching(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a hit", "file b hit")
	g := &grep{args: &arguments{Pattern: "hit", Output: "content"}, max: 100, call: &toolmain.Call{}}
	g.matcher = mustCompile(t, "hit")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := &job{to: 2, done: make(chan struct{})}
	_, err := walked(ctx, jptooltest.Open(t, root), g.walk, func(batch *walk.Batch) error {
		j.batch = *batch
		batch.Hold()
		cancel()
		(&worker{ctx: ctx, g: g, back: newBacklog(), file: reader{ctx: ctx}}).run(j)
		return nil
	})
	if err != nil || j.tally.unsearched != 2 || j.tally.odd[unreadable].n != 0 {
		t.Errorf("%v, %+v", err, j.tally)
	}
}

// A time limit gives what was found until then, and says so.
func TestDeadline(t *testing.T) {
	root := jptooltest.TempRoot(t)
	for i := range 200 {
		jptooltest.Tree(t, root, fmt.Sprintf("file d%d/f hit", i))
	}
	if got := call(t, root, map[string]any{"pattern": "hit"}, map[string]any{"deadline": 0}); got.Data.Partial || got.Data.TotalMatches != 200 {
		t.Errorf("without a limit: %+v", got)
	}
	g := &grep{args: &arguments{Pattern: "hit", Output: "content"}, max: 100, call: &toolmain.Call{}}
	ws := jptooltest.Open(t, root)
	ctx, cancel := contextThatEnds(t)
	defer cancel()
	g.matcher = mustCompile(t, "hit")
	planned, err := walk.Plan(t.Context(), ws, g.walk)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.search(ctx, planned)
	if err != nil || !out.Data.(*data).Partial || !strings.Contains(out.Content, "the time limit was reached") {
		t.Errorf("got %+v, %v", out, err)
	}
}

// walked plans a walk and makes it.
func walked(ctx context.Context, ws *jptool.Workspace, o walk.Options, emit func(*walk.Batch) error) (*walk.Result, error) {
	pl, err := walk.Plan(ctx, ws, o)
	if err != nil {
		return nil, err
	}
	return pl.Walk(ctx, emit)
}
