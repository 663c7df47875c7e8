package call

import (
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// outside replaces a path that a model must not learn.
const outside = "(outside the workspace)"

// ForModel removes absolute paths from a message of the host: paths in the workspace become relative to it, and all
// others become "(outside the workspace)". A person sees the unchanged message on
// standard error. A path ends at a blank, unless it is quoted or one of known, which may have blanks in them.
func ForModel(text, root string, known ...string) string {
	root = filepath.ToSlash(root)
	var b strings.Builder
	for i := 0; i < len(text); {
		if !begins(text, i) {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := ends(text, i)
		for _, path := range append([]string{root}, known...) {
			if path = filepath.ToSlash(path); len(path) > 1 && prefixes(text[i:], path) {
				if end = i + len(path); end < len(text) && text[end] == '/' {
					end = ends(text, end)
				}
				break
			}
		}
		switch rel, in := wspath.WithinAbs(root, text[i:end]); {
		case in && rel == "":
			b.WriteByte('.')
		case in:
			b.WriteString(rel)
		default:
			b.WriteString(outside)
		}
		i = end
	}
	return b.String()
}

// prefixes reports whether a text begins with a path, and not with a longer name.
func prefixes(text, path string) bool {
	return strings.HasPrefix(text, path) && (len(text) == len(path) || text[len(path)] == '/' || !inPath(text[len(path)]))
}

// begins reports whether an absolute path begins at i: at a slash that is not part of a longer word.
func begins(text string, i int) bool {
	if text[i] != '/' || i+1 == len(text) || !inPath(text[i+1]) {
		return false
	}
	return i == 0 || !inPath(text[i-1]) && text[i-1] != '/' && text[i-1] != ')'
}

func inPath(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("._-+~@%$*{}", c) >= 0
}

// ends returns the end of the path that begins at i.
func ends(text string, i int) int {
	stop := " \t\n\"'`,;()<>|"
	if i > 0 && strings.IndexByte("\"'`", text[i-1]) >= 0 {
		stop = text[i-1:i] + "\n"
	}
	n := strings.IndexAny(text[i:], stop)
	if n < 0 {
		n = len(text) - i
	}
	path := text[i : i+n]
	// The line and column of `file:line:column` and the punctuation of the sentence are not part of the path.
	path = strings.TrimRight(path, ".:")
	for range 2 {
		if at := strings.LastIndexByte(path, ':'); at > 0 && strings.Trim(path[at+1:], "0123456789") == "" {
			path = path[:at]
		}
	}
	return i + len(path)
}
