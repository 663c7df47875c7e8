package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// textMost is the length of a text from which only its size and digest are logged, listMost the length of a list from
	// which only its beginning is, depthMost the depth of nested values.
	textMost  = 160
	listMost  = 20
	depthMost = 6
	// digestLeast is the length from which the digest of a content is logged: a shorter one could be found by trying.
	digestLeast = 32
)

// contents are names of arguments that hold content of files, whatever its length.
var contents = []string{"content", "contents", "text", "body", "data", "old", "new", "old_string", "new_string", "patch", "diff", "input", "stdin"}

// secret matches names of arguments that hold secrets. Of them not even the digest is logged: it would tell a short one.
var secret = regexp.MustCompile(`(?i)secret|token|passw|passphrase|api_?key|credential|private_?key|^auth`)

// Arguments returns arguments as they are logged. In the place of contents and long texts stands their size in bytes and
// their digest, in the place of secrets only a remark. It goes by the names of the arguments, because a tool does not say
// which of them hold secrets.
func Arguments(args map[string]any) map[string]any {
	short, _ := shorten("", args, depthMost).(map[string]any)
	return short
}

func shorten(name string, v any, depth int) any {
	if secret.MatchString(name) {
		return "(not logged)"
	}
	if depth == 0 {
		return "(nested too deep to be logged)"
	}
	switch v := v.(type) {
	case string:
		return shortText(name, v, depth)
	case []any:
		var list []any
		for _, item := range v[:min(len(v), listMost)] {
			list = append(list, shorten(name, item, depth-1))
		}
		if more := len(v) - listMost; more > 0 {
			list = append(list, fmt.Sprintf("(%d more)", more))
		}
		return list
	case map[string]any:
		short := map[string]any{}
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i == listMost {
				short["…"] = fmt.Sprintf("(%d more)", len(v)-listMost)
				break
			}
			short[key] = shorten(key, v[key], depth-1)
		}
		return short
	}
	return v
}

// shortText shortens a text. Models write lists and objects as text: then what is in them counts.
func shortText(name, s string, depth int) any {
	if isContent := slices.Contains(contents, strings.ToLower(name)); !isContent {
		var inner any
		if trimmed := strings.TrimSpace(s); trimmed != "" && strings.ContainsAny(trimmed[:1], "[{") && json.Unmarshal([]byte(s), &inner) == nil {
			return shorten(name, inner, depth-1)
		}
		if len(s) <= textMost {
			return s
		}
	}
	if len(s) < digestLeast {
		return map[string]any{"bytes": len(s)}
	}
	return map[string]any{"bytes": len(s), "digest": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s)))}
}
