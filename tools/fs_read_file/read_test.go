package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
)

// answer is a decoded Outcome.
type answer struct {
	Type, Content, Message string
	Code                   jptool.Code
	Transient              bool
	Data                   *result
	exit                   int
}

type object = map[string]any

// call runs the tool on a whole request. Keys of more replace those of the context.
func call(t testing.TB, root string, args, options object, more object, rules ...jptool.FsRule) answer {
	t.Helper()
	return callContext(t, t.Context(), root, args, options, more, rules...)
}

func callContext(t testing.TB, ctx context.Context, root string, args, options object, more object, rules ...jptool.FsRule) answer {
	t.Helper()
	callCtx := object{"root": root, "action": "run"}
	if len(rules) > 0 {
		callCtx["access"] = jptool.AccessPolicy{FS: rules}
	}
	for k, v := range more {
		callCtx[k] = v
	}
	request, err := json.Marshal(object{"context": callCtx, "tool": object{"name": "fs_read_file", "arguments": args, "options": options}})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	exit := toolmain.Run(ctx, tool, toolmain.Streams{Stdin: bytes.NewReader(request), Stdout: &stdout, Stderr: &stderr})
	var a answer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		t.Fatalf("output %q: %v", stdout.String(), err)
	}
	a.exit = exit
	if strings.Contains(stdout.String()+stderr.String(), root) {
		t.Errorf("the output names an absolute path: %s%s", stdout.String(), stderr.String())
	}
	return a
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, a answer, want string) {
	t.Helper()
	if a.Type != "success" || a.Content != want || a.exit != 0 {
		t.Errorf("got %s %s %s, exit %d\n%s\nwant\n%s", a.Type, a.Code, a.Message, a.exit, a.Content, want)
	}
}

func wantError(t *testing.T, a answer, code jptool.Code, exit int, mention string) {
	t.Helper()
	if a.Type != "error" || a.Code != code || a.exit != exit || a.Transient || !strings.Contains(a.Message, mention) {
		t.Errorf("got %s %s exit %d: %s%s\nwant %s, exit %d, naming %q", a.Type, a.Code, a.exit, a.Message, a.Content, code, exit, mention)
	}
}

func TestWhatIsShown(t *testing.T) {
	const nine = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct {
		name, text string
		args       object
		want       string
	}{
		{"whole file", "foo\n\tbar\nbaz\n", nil, "1: foo\n2: \tbar\n3: baz\n"},
		{"right-aligned", nine, object{"start_line": 9}, " 9: 9\n10: 10\n\nNote: lines 9-10 of 10.\n"},
		{"width of what is shown", nine, object{"end_line": 1}, "1: 1\n\nNote: line 1 of 10.\n"},
		{"end beyond the end", "a\nb\n", object{"start_line": 2, "end_line": 99}, "2: b\n\nNote: line 2 of 2.\n"},
		{"no final newline", "a\nb", nil, "1: a\n2: b\n\nNote: the last line has no newline at its end.\n"},
		{"not the last line, no note", "a\nb", object{"end_line": 1}, "1: a\n\nNote: line 1 of 2.\n"},
		{"empty last line", "a\n\n", nil, "1: a\n2: \n"},
		{"empty file", "", nil, "Note: the file is empty.\n"},
		{"empty file from line 1", "", object{"start_line": 1}, "Note: the file is empty.\n"},
		{"empty file, tail", "", object{"tail": 3}, "Note: the file is empty.\n"},
		{"tail", nine, object{"tail": 2}, " 9: 9\n10: 10\n\nNote: lines 9-10 of 10.\n"},
		{"tail of more than there is", "a\nb", object{"tail": 5}, "1: a\n2: b\n\nNote: the last line has no newline at its end.\n"},
		{
			"ranges sorted and joined", nine,
			object{"ranges": []object{{"start_line": 9}, {"start_line": 1, "end_line": 2}, {"start_line": 2, "end_line": 3}, {"start_line": 4, "end_line": 4}}},
			" 1: 1\n 2: 2\n 3: 3\n 4: 4\n...\n 9: 9\n10: 10\n\nNote: lines 1-4, 9-10 of 10.\n",
		},
		{"ranges as a string", nine, object{"ranges": `[{"start_line":2,"end_line":2}]`}, "2: 2\n\nNote: line 2 of 10.\n"},
		{
			"one range beyond", "a\nb\n",
			object{"ranges": []object{{"end_line": 1}, {"start_line": 7, "end_line": 8}}},
			"1: a\n\nNote: line 1 of 2.\nNote: the file ends before lines 7-8.\n",
		},
		{"no ranges", "a\n", object{"ranges": []object{}, "start_line": nil, "tail": nil}, "1: a\n"},
		{"CRLF", "a\r\nb\r\n", nil, "1: a\n2: b\n\nNote: line endings are CRLF.\n"},
		{"mixed", "a\r\nb\nc\n", nil, "1: a\n2: b\n3: c\n\nNote: line endings are mixed: 1 CRLF, 2 LF.\n"},
		{"a lone CR is text", "a\rb\n", nil, "1: a\rb\n"},
		{"byte order mark", "\xef\xbb\xbfa\n", nil, "1: a\n\nNote: the file starts with a UTF-8 byte order mark, which is not shown.\n"},
		{"only a byte order mark", "\xef\xbb\xbf", nil, "Note: the file has nothing but a byte order mark.\nNote: the file starts with a UTF-8 byte order mark, which is not shown.\n"},
		{"UTF-16LE", "\xff\xfea\x00\n\x00\x3d\xd8\x00\xde\n\x00", nil, "1: a\n2: \U0001F600\n\nNote: shown decoded from UTF-16LE with a byte order mark.\n"},
		{
			"UTF-16BE, CRLF, tail", "\xfe\xff\x00a\x00\r\x00\n\x00b\x00\r\x00\n",
			object{"tail": 1},
			"2: b\n\nNote: line 2 of 2.\nNote: line endings are CRLF.\nNote: shown decoded from UTF-16BE with a byte order mark.\n",
		},
		{
			"bad UTF-16", "\xff\xfe\x00\xdca\x00\n\x00z", nil,
			"1: \uFFFDa\n2: \uFFFD\n\nNote: shown decoded from UTF-16LE with a byte order mark.\nNote: 2 bytes are not UTF-8 text, shown as U+FFFD (line 1, 2).\nNote: the last line has no newline at its end.\n",
		},
		{"start_byte", "abcdef\n", object{"start_line": 1, "start_byte": 3}, "1: [2 bytes before]…cdef\n\nNote: line 1 is cut: bytes 3-6 of 6.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := jptooltest.TempRoot(t)
			write(t, root, "f", c.text)
			args := object{"path": "f"}
			for k, v := range c.args {
				args[k] = v
			}
			wantContent(t, call(t, root, args, nil, nil), c.want)
		})
	}
}

// A trailing newline makes no further line, in what is shown and in what is counted,
// and no content can break out of the form: there is no fence.
func TestOneWayToCountAndNoFence(t *testing.T) {
	root := jptooltest.TempRoot(t)
	write(t, root, "f.md", "```\n````\n")
	wantContent(t, call(t, root, object{"path": "f.md"}, nil, nil), "1: ```\n2: ````\n")
	a := call(t, root, object{"path": "f.md", "start_line": 3}, nil, nil)
	wantError(t, a, jptool.CodeInvalidArguments, 2, "start_line 3 is beyond the end of f.md, which has 2 lines")
	write(t, root, "empty", "")
	wantError(t, call(t, root, object{"path": "empty", "start_line": 2}, nil, nil), jptool.CodeInvalidArguments, 2, "0 lines")
	if a := call(t, root, object{"path": "f.md"}, nil, nil); *a.Data.TotalLines != 2 || !*a.Data.FinalLF {
		t.Errorf("data: %+v", a.Data)
	}
}

func TestBadArguments(t *testing.T) {
	root := jptooltest.TempRoot(t)
	write(t, root, "f", "a\nb\n")
	for _, c := range []struct {
		args    object
		mention string
	}{
		{object{"start_line": 0}, "start_line"},
		{object{"end_line": -1}, "end_line"},
		{object{"start_line": "1"}, "start_line"},
		{object{"start_line": 1.5}, "start_line"},
		{object{"start_line": 3, "end_line": 2}, "start_line 3 is after end_line 2"},
		{object{"tail": 0}, "tail"},
		{object{"tail": 1, "start_line": 1}, "tail"},
		{object{"tail": 1, "ranges": []object{{"start_line": 1}}}, "tail"},
		{object{"ranges": []object{{"start_line": 1}}, "end_line": 1}, "ranges"},
		{object{"ranges": []object{{"end_line": 1}, {"start_line": 2, "end_line": 1}}}, "item 1"},
		{object{"ranges": []any{"1-2"}}, "ranges"},
		{object{"start_byte": 2}, "start_line"},
		{object{"start_byte": 2, "start_line": 1, "end_line": 2}, "start_byte"},
		{object{"start_byte": 2, "start_line": 1}, "start_byte 2 is beyond the end of line 1, which has 1 byte"},
		{object{"ranges": []object{{"start_line": 8}, {"start_line": 5, "end_line": 6}}}, "start_line 5 is beyond the end of f, which has 2 lines"},
		{object{"path": ""}, "directory"},
	} {
		args := object{"path": "f"}
		for k, v := range c.args {
			args[k] = v
		}
		a := call(t, root, args, nil, nil)
		if c.mention == "directory" {
			wantError(t, a, jptool.CodeWrongType, 1, c.mention)
			continue
		}
		wantError(t, a, jptool.CodeInvalidArguments, 2, c.mention)
	}
	wantError(t, call(t, root, object{}, nil, nil), jptool.CodeInvalidArguments, 2, "path")
	wantError(t, call(t, root, object{"path": "f"}, object{"suppress": object{}}, nil), jptool.CodeInvalidArguments, 2, "suppress")
	wantError(t, call(t, root, object{"path": "f"}, object{"suppress": []string{"a["}}, nil), jptool.CodeInvalidArguments, 2, "a[")
}

func TestWhatIsNotAFile(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir d", "file f x", "symlink loop loop")
	wantError(t, call(t, root, object{"path": "d"}, nil, nil), jptool.CodeWrongType, 1, "fs_list_files")
	wantError(t, call(t, root, object{"path": "f/x"}, nil, nil), jptool.CodeWrongType, 1, "")
	wantError(t, call(t, root, object{"path": "nope"}, nil, nil), jptool.CodeNotFound, 1, "nope")
	if runtime.GOOS == "windows" {
		return
	}
	jptooltest.Tree(t, root, "fifo p")
	wantError(t, call(t, root, object{"path": "p"}, nil, nil), jptool.CodeWrongType, 1, "FIFO")
}

func TestBinaryFilesAreNamed(t *testing.T) {
	root := jptooltest.TempRoot(t)
	for _, c := range []struct{ text, kind string }{
		{"\x7fELF\x02\x01\x01\x00\x00", "ELF executable or library"},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PNG image"},
		{"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "PDF document"},
		{"\x1f\x8b\x08\x08 no nul", "gzip archive"},
		{"text\x00", "unknown kind"},
		{"\x00\x00\xfe\xff\x00\x00\x00a", "UTF-32 text"},
		{"\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32 text"},
		{"\xff\xfea\x00\x00\x00b\x00", "unknown kind"},
		{strings.Repeat("\x01\x80\x90a", 50), "unknown kind"},
		// Text, whatever it starts with.
		{"BM is short for bitmap\n", ""},
		{"MZ\n", ""},
		{"PK\x03\x04", "ZIP archive (also docx, xlsx, jar)"},
		{"GIF89a in words", ""},
		{"caf\xe9 cr\xe8me\n", ""},
		{"\x1b[31mred\x1b[0m\a\b\n", ""},
		{"BM" + strings.Repeat("a", headSize-3) + "€", ""}, // a character on the edge of what is looked at
		{strings.Repeat("a", headSize) + "\x00", ""},
	} {
		write(t, root, "f", c.text)
		a := call(t, root, object{"path": "f", "start_line": 1, "end_line": 1}, nil, nil)
		if a.Type != "success" || a.Data.Kind != c.kind || a.Data.Binary != (c.kind != "") || a.Data.Size != int64(len(c.text)) {
			t.Errorf("%.20q: %s %+v, want kind %q", c.text, a.Message, a.Data, c.kind)
			continue
		}
		if c.kind != "" && (!strings.Contains(a.Content, c.kind) || !strings.Contains(a.Content, "f is a binary file") || strings.Contains(a.Content, c.text)) {
			t.Errorf("%.20q: %q", c.text, a.Content)
		}
	}
}

// Files that are not UTF-8 are shown, big ones stream, and output is bounded.
func TestAnyBytesAnySizeBoundedOutput(t *testing.T) {
	root := jptooltest.TempRoot(t)
	write(t, root, "latin", "caf\xe9\nok\n\xff\xfe\nnul\n")
	wantContent(t, call(t, root, object{"path": "latin"}, nil, nil),
		"1: caf\uFFFD\n2: ok\n3: \uFFFD\uFFFD\n4: nul\n\nNote: 3 bytes are not UTF-8 text, shown as U+FFFD (line 1, 3).\n")

	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	write(t, root, "many", b.String())
	a := call(t, root, object{"path": "many"}, nil, nil)
	if !strings.HasSuffix(a.Content, "2000: line 2000\n\nNote: lines 1-2000 of 5000. To read on: start_line: 2001.\n") {
		t.Errorf("%q", a.Content[len(a.Content)-200:])
	}
	if !a.Data.Truncated || a.Data.Next.Start != 2001 || a.Data.Next.End != 0 {
		t.Errorf("next: %+v", a.Data.Next)
	}
	a = call(t, root, object{"path": "many", "start_line": 3, "end_line": 9}, object{"max_bytes": 20}, nil)
	wantContent(t, a, "3: line 3\n4: line 4\n\nNote: lines 3-4 of 5000. To read on: start_line: 5, end_line: 9.\n")
	a = call(t, root, object{"path": "many", "ranges": []object{{"start_line": 3, "end_line": 4}, {"start_line": 8, "end_line": 9}, {"start_line": 12}}}, object{"max_lines": 3}, nil)
	wantContent(t, a, "3: line 3\n4: line 4\n...\n8: line 8\n\nNote: lines 3-4, 8 of 5000. To read on: ranges: [{\"start_line\":9,\"end_line\":9},{\"start_line\":12}].\n")
	a = call(t, root, object{"path": "many", "tail": 9}, object{"max_lines": 2}, nil)
	wantContent(t, a, "4999: line 4999\n5000: line 5000\n\nNote: lines 4999-5000 of 5000. To read on: start_line: 4992, end_line: 4998.\n")
	a = call(t, root, object{"path": "many", "tail": 9}, object{"max_bytes": 19}, nil)
	wantContent(t, a, "5000: line 5000\n\nNote: line 5000 of 5000. To read on: start_line: 4992, end_line: 4999.\n")
	// Exactly as many lines as allowed is not cut.
	write(t, root, "two", "a\nb\n")
	wantContent(t, call(t, root, object{"path": "two"}, object{"max_lines": 2}, nil), "1: a\n2: b\n")
	a = call(t, root, object{"path": "many", "tail": 2}, object{"max_lines": 2}, nil)
	wantContent(t, a, "4999: line 4999\n5000: line 5000\n\nNote: lines 4999-5000 of 5000.\n")

	write(t, root, "long", strings.Repeat("é", 3000)+"\nx\n")
	a = call(t, root, object{"path": "long"}, object{"max_line_bytes": 5}, nil)
	wantContent(t, a, "1: éé…[5996 bytes more]\n2: x\n\nNote: line 1 is cut: bytes 1-4 of 6000. To read on in it: start_line: 1, start_byte: 5.\n")
	a = call(t, root, object{"path": "long", "start_line": 1, "end_line": 1, "start_byte": 5997}, object{"max_line_bytes": 5}, nil)
	wantContent(t, a, "1: [5996 bytes before]…éé\n\nNote: line 1 of 2.\nNote: line 1 is cut: bytes 5997-6000 of 6000.\n")
	if a.Data.Cut[0] != (cutLine{Line: 1, From: 5997, Shown: 4, Total: 6000}) {
		t.Errorf("cut: %+v", a.Data.Cut)
	}
}

// bigFile makes a sparse file of 512 MiB: ten lines, one huge line of NULs, three lines.
func bigFile(t *testing.T, root string) {
	t.Helper()
	f, err := os.Create(filepath.Join(root, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := strings.Repeat(strings.Repeat("x", 999)+"\n", 10)
	if _, err := f.WriteString(head); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\nlast but one\nlast\n"), 512<<20); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	root := jptooltest.TempRoot(t)
	bigFile(t, root)
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"start_line": 2, "end_line": 2}, "2: " + strings.Repeat("x", 999) + "\n\nNote: line 2; the file goes on.\n"},
		{object{"start_line": 13}, "13: last\n\nNote: line 13 of 13.\n"},
		{object{"tail": 1}, "13: last\n\nNote: line 13 of 13.\n"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		args := object{"path": "big"}
		for k, v := range c.args {
			args[k] = v
		}
		a := call(t, root, args, nil, nil)
		runtime.ReadMemStats(&after)
		wantContent(t, a, c.want)
		if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
			t.Errorf("%v: allocated %d bytes", c.args, got)
		}
		if a.Data.Digest != nil || a.Data.DigestReason == "" {
			t.Errorf("%v: digest %v, %q", c.args, a.Data.Digest, a.Data.DigestReason)
		}
	}
	// The end of one huge line, and the deadline on the way there.
	a := call(t, root, object{"path": "big", "start_line": 11, "start_byte": 512<<20 - 10000 - 4}, nil, nil)
	if a.Type != "success" || a.Data.BadBytes != 5 {
		t.Errorf("%s%s", a.Message, a.Content)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	start := time.Now()
	wantError(t, callContext(t, ctx, root, object{"path": "big", "start_line": 12}, nil, nil), jptool.CodeDeadline, 1, "bytes")
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v to see the deadline", d)
	}
}

func TestTailOfAFileTooBigToCount(t *testing.T) {
	root := jptooltest.TempRoot(t)
	bigFile(t, root)
	defer func(n int64) { countLimit = n }(countLimit)
	countLimit = 1 << 20
	a := call(t, root, object{"path": "big", "tail": 2}, nil, nil)
	wantContent(t, a, "-2: last but one\n-1: last\n\nNote: lines -2--1, numbered from the end of a file too large to count its lines.\n")
	a = call(t, root, object{"path": "big", "tail": 2}, object{"max_lines": 1}, nil)
	wantContent(t, a, "-1: last\n\nNote: line -1, numbered from the end of a file too large to count its lines. The lines before are left out.\n")
	if a.Data.TotalLines != nil || a.Data.Next != nil || !a.Data.Truncated {
		t.Errorf("data %+v", a.Data)
	}
}

func TestReadingAFileThatGrowsEnds(t *testing.T) {
	root := jptooltest.TempRoot(t)
	write(t, root, "log", strings.Repeat("0123456789abcde\n", smallSize/16+1))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(filepath.Join(root, "log"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		block := bytes.Repeat([]byte("more\n"), 20000)
		for range 20000 {
			select {
			case <-stop:
				return
			default:
				if _, err := f.Write(block); err != nil {
					return
				}
			}
		}
	}()
	for _, args := range []object{{"path": "log", "start_line": 1 << 40}, {"path": "log", "tail": 3}, {"path": "log", "digest": true}} {
		done := make(chan answer)
		go func() { done <- call(t, root, args, nil, nil) }()
		select {
		case a := <-done:
			if a.Type == "error" && a.Code != jptool.CodeInvalidArguments {
				t.Errorf("%v: %s", args, a.Message)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%v: does not end", args)
		}
	}
	close(stop)
	<-stopped
}

func TestDigestIsOfTheBytes(t *testing.T) {
	root := jptooltest.TempRoot(t)
	write(t, root, "f", "\xef\xbb\xbfabc\r\n\xff")
	a := call(t, root, object{"path": "f", "end_line": 1, "digest": true}, nil, nil)
	if a.Data.Digest == nil || !strings.HasSuffix(a.Content, "Note: digest "+*a.Data.Digest+"\n") {
		t.Fatalf("%q, %+v", a.Content, a.Data)
	}
	if sum := sha256Hex("\xef\xbb\xbfabc\r\n\xff"); *a.Data.Digest != "sha256:"+sum {
		t.Errorf("digest %s, want %s", *a.Data.Digest, sum)
	}
	text := strings.Repeat("x\n", smallSize)
	write(t, root, "big", text)
	a = call(t, root, object{"path": "big", "end_line": 1, "digest": true}, nil, nil)
	if a.Data.Digest == nil || *a.Data.Digest != "sha256:"+sha256Hex(text) {
		t.Errorf("digest of a big file: %+v", a.Data)
	}
}

func TestFilesThatDoNotTellTheirSize(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	// Below a mount, since the workspace itself is seldom in /proc.
	root := jptooltest.TempRoot(t)
	real, err := filepath.EvalSymlinks("/proc/sys/kernel")
	if err != nil {
		t.Skip(err)
	}
	jptooltest.Tree(t, root, "symlink k "+real)
	a := call(t, root, object{"path": "k/ostype"}, nil, nil, jptooltest.Rule("", "read"), jptooltest.Mount("k", real, "read"))
	wantContent(t, a, "1: Linux\n")
	if a.Data.Size != 6 || a.Data.Digest == nil {
		t.Errorf("data %+v", a.Data)
	}
}
