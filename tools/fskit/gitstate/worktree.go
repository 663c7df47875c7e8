package gitstate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"strings"

	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
)

// workMatches compares what is in the work tree with an index entry: kind, executable bit and content.
func (r *repo) workMatches(ctx context.Context, path string, e *indexEntry, info fs.FileInfo) (bool, error) {
	switch {
	case e.conflict || e.intentToAdd:
		return false, nil
	case info == nil:
		// With these bits git does not miss the file. They do not make a changed file clean.
		return e.skipWorktree || e.assumeValid, nil
	case e.mode == modeGitlink:
		return false, nil // a submodule that has become something else
	case info.Mode()&fs.ModeSymlink != 0:
		if e.mode != modeSymlink {
			return false, nil
		}
		target, err := r.fsys.Readlink(path)
		if err != nil {
			return false, unreadable(path, err)
		}
		return r.algo.object("blob", []byte(target)) == e.id, nil
	case !info.Mode().IsRegular():
		return false, nil
	case e.mode == modeSymlink:
		if r.cfg.symlinks {
			return false, nil
		}
		// Such systems check links out as files that hold the target.
	case r.cfg.fileMode && runtime.GOOS != "windows" && (info.Mode()&0o100 != 0) != (e.mode&0o100 != 0):
		return false, nil
	}
	return r.fileMatches(ctx, path, e)
}

// fileMatches compares the content as it is first, and only if that differs as git would convert it.
func (r *repo) fileMatches(ctx context.Context, path string, e *indexEntry) (bool, error) {
	f, size, err := openRegular(r.fsys, path)
	if notThere(err) || errors.Is(err, errNotRegular) {
		return false, nil
	}
	if err != nil {
		return false, unreadable(path, err)
	}
	defer f.Close()

	h := r.algo.start("blob", size)
	n, err := io.Copy(h, ctxReader{ctx, io.NewSectionReader(f, 0, size+1)})
	if err != nil {
		return false, unreadable(path, err)
	}
	// A file that shrinks or grows meanwhile does not match.
	if n == size && r.algo.sum(h) == e.id {
		return true, nil
	}
	how, err := r.conversion(path)
	switch {
	case err != nil || how == convertNone:
		return false, err
	case how == convertOther:
		return false, unknownf("%q is converted by a filter, which we do not run", path)
	case size > maxObject:
		return false, unknownf("%q is too large to be compared without its line ends", path)
	}
	data, err := io.ReadAll(ctxReader{ctx, io.NewSectionReader(f, 0, size)})
	if err != nil {
		return false, unreadable(path, err)
	}
	text := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if how == convertAuto && bytes.ContainsAny(text, "\r\x00") {
		return false, nil // git's automatic conversion takes it for binary and leaves it alone
	}
	return r.algo.object("blob", text) == e.id, nil
}

// maxAttributesFile bounds one attributes file.
const maxAttributesFile = 4 << 20

// conversion is what git would do to a file's content before hashing it.
type conversion uint8

const (
	convertNone  conversion = iota
	convertAuto             // CRLF to LF unless the file looks binary
	convertText             // CRLF to LF
	convertOther            // a filter, keyword or encoding that we do not apply
)

// attributes are the ones that change content. An absent or empty value is unspecified, "-" unset, "+" set.
type attributes map[string]string

// contentAttributes has the names in .gitattributes of those that change content.
var contentAttributes = map[string]string{
	"text": "text", "crlf": "text", // the old name
	"binary": "text", // git's own macro
	"eol":    "eol", "filter": "filter", "ident": "ident", "working-tree-encoding": "encoding",
}

// conversion says how the content of a tracked file is converted. It is asked only about files that differ
// from the index as they are, so what it gets wrong can make such a file clean only if no more than its line
// ends changed.
func (r *repo) conversion(path string) (conversion, error) {
	a, err := r.attributes(path)
	if err != nil {
		return convertOther, err
	}
	is := func(name string) bool { return a[name] != "" && a[name] != "-" }
	switch {
	case is("filter"), a["ident"] == "+", is("encoding"):
		return convertOther, nil
	case a["text"] == "-":
		return convertNone, nil
	case a["text"] == "auto":
		return convertAuto, nil
	case a["text"] != "", a["eol"] == "lf", a["eol"] == "crlf":
		return convertText, nil
	case r.cfg.autoCRLF:
		return convertAuto, nil
	case !r.cfg.autoCRLFSet && runtime.GOOS == "windows":
		return convertAuto, nil // Git for Windows sets it in its system config, which we do not read
	}
	return convertNone, nil
}

// attributes gathers what applies to a file, the most specific last: the .gitattributes from the top down to
// the file's directory, then info/attributes.
func (r *repo) attributes(path string) (attributes, error) {
	a, sub := attributes{}, r.sub(path)
	dirs := []string{""}
	for i := range len(sub) {
		if sub[i] == '/' {
			dirs = append(dirs, sub[:i])
		}
	}
	for _, dir := range dirs {
		file := wspath.JoinSlash(wspath.JoinSlash(r.top, dir), ".gitattributes")
		if err := r.readAttributes(a, file, dir, sub); err != nil {
			return a, err
		}
	}
	return a, r.readAttributes(a, wspath.JoinSlash(r.commonDir, "info/attributes"), "", sub)
}

func (r *repo) readAttributes(a attributes, file, dir, sub string) error {
	info, err := lstat(r.fsys, file)
	if err != nil || info == nil || !info.Mode().IsRegular() {
		return err
	}
	data, err := readSmall(r.fsys, file, maxAttributesFile)
	if err != nil {
		return unreadable(file, err)
	}
	if !a.parse(data, dir, sub) {
		return unknownf("%q has macros or quoted names", file)
	}
	return nil
}

// parse applies the lines that match the file sub. It gives up on what would need more of git's rules, if
// content could depend on it.
func (a attributes) parse(data []byte, dir, sub string) bool {
	for line := range bytes.Lines(data) {
		words := strings.FieldsFunc(string(line), func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' })
		if len(words) < 2 || words[0][0] == '#' || words[0][0] == '!' {
			continue
		}
		changes := contentChanges(words[1:])
		switch {
		case strings.HasPrefix(words[0], "[attr]") || len(changes) > 0 && words[0][0] == '"':
			return false
		case len(changes) == 0:
			continue
		}
		var s *ignore.Stack
		if s.Push(dir, ignore.Parse([]byte(words[0]))).Match(sub, false) == ignore.Ignore {
			maps.Copy(a, changes)
		}
	}
	return true
}

// contentChanges returns what one line says about content.
func contentChanges(words []string) attributes {
	changes := attributes{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case ok:
		case strings.HasPrefix(name, "-"):
			name, value = name[1:], "-"
		case strings.HasPrefix(name, "!"):
			name, value = name[1:], ""
		default:
			value = "+"
		}
		if name == "binary" {
			value = map[string]string{"+": "-", "-": "+"}[value]
		}
		if field := contentAttributes[name]; field != "" {
			changes[field] = value
		}
	}
	return changes
}
