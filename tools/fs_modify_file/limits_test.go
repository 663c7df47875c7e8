package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
)

// A short call does not ask for more memory than there is.
func TestGrowthIsBounded(t *testing.T) {
	r := newRig(t)
	r.answers["broad_change"] = true
	text := strings.Repeat("a", 1000)
	for _, f := range []string{"f", "g", "h"} {
		r.write(f, text)
	}
	files := []string{"f", "g", "h"}
	large := func(a answer) {
		t.Helper()
		r.wantError(a, jptool.CodeTooLarge, "the files of one call may grow by 64 MiB together")
		for _, f := range files {
			r.wantFile(f, text)
		}
	}
	b30 := strings.Repeat("b", 30<<10)
	large(r.replace("a", strings.Repeat("b", 80<<10)))
	r.write("long", strings.Repeat("a", 100_000))
	large(r.call(object{"path": "long", "patterns": []object{{"old": "(a+)", "new": strings.Repeat("$1", 2000), "regex": true}}}))
	large(r.call(object{"patterns": []object{{"old": "a", "new": b30, "paths": files}}}))
	large(r.call(object{"patterns": []object{
		{"old": "a", "new": b30, "paths": files[:1]}, {"old": "a", "new": b30, "paths": files[1:2]}, {"old": "a", "new": b30, "paths": files[2:]},
	}}))
	// What another pattern takes away again is not counted, nor what is refused anyway.
	r.wantOK(r.call(object{"dry_run": true, "patterns": []object{
		{"old": "a", "new": b30, "paths": "f"}, {"old": b30, "new": "c", "paths": "f"}, {"old": "a", "new": b30, "paths": files[1:]},
	}}), "Would modify")
	r.wantError(r.call(object{"replace_all": false, "patterns": pairs("a", strings.Repeat("b", 80<<10))}), jptool.CodeAmbiguousMatch, "1000 times")
	r.wantError(r.call(object{"expected_matches": 3, "patterns": pairs("a", strings.Repeat("b", 80<<10))}), jptool.CodeAmbiguousMatch, "expected 3")
}

// The places that are known at a time are bounded over all files.
func TestPlacesAreBounded(t *testing.T) {
	r := newRig(t)
	var files []string
	for i := range 4 {
		files = append(files, fmt.Sprint("f", i))
		r.write(files[i], strings.Repeat("a", 1_200_000))
	}
	r.wantError(r.call(object{"patterns": []object{{"old": "a", "new": "b", "paths": files}}}), jptool.CodeTooLarge, "more than 4000000 matches in the files together")
	var each []object
	for _, f := range files {
		each = append(each, object{"old": "a", "new": "b", "paths": f})
	}
	r.wantError(r.call(object{"patterns": each}), jptool.CodeTooLarge, "pattern #4")
}

func TestRegexesTogether(t *testing.T) {
	r := newRig(t, "file f a")
	var patterns []object
	for range 20 {
		patterns = append(patterns, object{"old": strings.Repeat("a{1000}", 100), "new": "", "regex": true})
	}
	r.wantError(r.call(object{"patterns": patterns}), jptool.CodeInvalidArguments, "too large together")
}

// That a file is binary is seen before it is read, whatever its size.
func TestLargeBinaryFileIsNotRead(t *testing.T) {
	r := newRig(t)
	f, err := os.Create(filepath.Join(r.root, "f"))
	if err == nil {
		err = f.Truncate(900 << 20)
		f.Close()
	}
	if err != nil {
		t.Skip(err)
	}
	for _, preview := range []bool{false, true} {
		r.preview = preview
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := r.call(object{"patterns": []object{{"old": "x+", "new": "y", "regex": true}}})
		runtime.ReadMemStats(&after)
		r.wantError(a, jptool.CodeWrongType, "binary")
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 50 {
			t.Errorf("preview %v: %d MiB", preview, made)
		}
	}
}

// A regex that takes forever ends with the time limit, with nothing changed. What is left
// behind goes with the process, so it is one.
func TestDeadline(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("a", 1_000_000)
	r.write("f", text)
	for _, preview := range []bool{false, true} {
		action := "run"
		if preview {
			action = "format_arguments"
		}
		request, err := json.Marshal(object{"context": object{"root": r.root, "action": action}, "tool": object{
			"name": "fs_modify_file", "options": object{"deadline": 1}, "answers": object{"apply_changes": true, "broad_change": true},
			"arguments": object{"path": "f", "patterns": []object{{"old": "(?s)a.*z|a", "new": "b", "regex": true}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "fs_modify_file")
		cmd.Stdin = bytes.NewReader(request)
		start := time.Now()
		out, _ := cmd.Output()
		var a answer
		if err := json.Unmarshal(out, &a); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if took := time.Since(start); a.Code != jptool.CodeDeadline || !strings.Contains(a.Message, "nothing was changed") || took > 20*time.Second {
			t.Errorf("preview %v: %s %s after %v", preview, a.Code, a.Message, took)
		}
		r.wantFile("f", text)
	}
}

// A fault in what runs on its own goroutine is the frame's to report.
func TestFaultsAreNotLost(t *testing.T) {
	ch := &change{}
	defer func() {
		if fault := fmt.Sprint(recover()); !strings.Contains(fault, "oops") || !strings.Contains(fault, "TestFaultsAreNotLost") {
			t.Errorf("recovered %.200s", fault)
		}
	}()
	ch.limited(t.Context(), func() error { panic("oops") })
}

// Long texts are told apart though only their ends are shown.
func TestTallyOfLongTexts(t *testing.T) {
	var texts tally
	long := strings.Repeat("x", 1000)
	for _, s := range []string{long + "1" + long, long + "2" + long, long + "2" + long, "short", "\xff"} {
		texts.add([]byte(s))
	}
	want := strings.Repeat("x", 40) + "…" + strings.Repeat("x", 16) + " (2001 chars)"
	list := texts.list(8)
	if len(list) != 4 || list[0] != (matchedText{want, 2}) || list[2] != (matchedText{want, 1}) || list[3].Text != "\ufffd" {
		t.Errorf("%+v", list)
	}
}
