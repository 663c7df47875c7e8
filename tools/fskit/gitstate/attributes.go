package gitstate

import (
	"bytes"
	"runtime"
	"strings"

	"github.com/jptools/jptools/tools/fskit/ignore"

	"github.com/jptools/jptools/jptool/wspath"
)

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

// attributes are the ones that change content. An empty value is unspecified, "-" unset, "+" set.
type attributes struct {
	text, eol, filter, ident, encoding string
}

// conversion says how the content of a tracked file is converted. It is asked only about files that differ
// from the index as they are, so what it gets wrong can make such a file clean only if no more than its line
// ends changed.
func (r *repo) conversion(path string) (conversion, error) {
	a, err := r.attributes(path)
	if err != nil {
		return convertOther, err
	}
	switch {
	case a.filter != "" && a.filter != "-", a.ident == "+", a.encoding != "" && a.encoding != "-":
		return convertOther, nil
	case a.text == "-":
		return convertNone, nil
	case a.text == "auto":
		return convertAuto, nil
	case a.text != "", a.eol == "lf", a.eol == "crlf":
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
	var a attributes
	sub := r.sub(path)
	dirs := []string{""}
	for i := range len(sub) {
		if sub[i] == '/' {
			dirs = append(dirs, sub[:i])
		}
	}
	for _, dir := range dirs {
		file := wspath.JoinSlash(wspath.JoinSlash(r.top, dir), ".gitattributes")
		if err := r.readAttributes(&a, file, dir, sub); err != nil {
			return a, err
		}
	}
	return a, r.readAttributes(&a, wspath.JoinSlash(r.commonDir, "info/attributes"), "", sub)
}

func (r *repo) readAttributes(a *attributes, file, dir, sub string) error {
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
func (a *attributes) parse(data []byte, dir, sub string) bool {
	for line := range bytes.Lines(data) {
		words := strings.FieldsFunc(string(line), func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' })
		if len(words) < 2 || words[0][0] == '#' || words[0][0] == '!' {
			continue
		}
		relevant := a.apply(words[1:], true)
		switch {
		case strings.HasPrefix(words[0], "[attr]") || relevant && words[0][0] == '"':
			return false
		case !relevant:
			continue
		}
		var s *ignore.Stack
		if s.Push(dir, ignore.Parse([]byte(words[0]))).Match(sub, false) == ignore.Ignore {
			a.apply(words[1:], false)
		}
	}
	return true
}

// apply sets the attributes of one line and reports whether any concerns content; with dry set it only
// reports.
func (a *attributes) apply(words []string, dry bool) (relevant bool) {
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
		var field *string
		switch name {
		case "binary": // git's own macro
			name, value = "text", map[string]string{"+": "-", "-": "+", "": ""}[value]
			field = &a.text
		case "text", "crlf": // crlf is the old name
			field = &a.text
		case "eol":
			field = &a.eol
		case "filter":
			field = &a.filter
		case "ident":
			field = &a.ident
		case "working-tree-encoding":
			field = &a.encoding
		default:
			continue
		}
		relevant = true
		if !dry {
			*field = value
		}
	}
	return relevant
}
