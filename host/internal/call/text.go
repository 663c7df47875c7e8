package call

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// mountedForOthers warns when a path that leads out of the workspace is mounted, but for other tools only.
func (k *call) mountedForOthers() {
	if k.holdsBack() {
		return
	}
	for _, text := range texts(k.args) {
		at := path.Clean(filepath.ToSlash(text))
		var tools []string
		mount := ""
		for _, t := range k.Config.Tools() {
			if t.Access == nil || t.Name == k.Tool.Name {
				continue
			}
			for _, r := range t.Access.FS {
				if r.External && r.Caps() != 0 && (at == r.Path || strings.HasPrefix(at, r.Path+"/")) {
					tools, mount = append(tools, show.Visible(t.Name)), r.Path
					break
				}
			}
		}
		if len(tools) > 0 {
			k.warn(fmt.Sprintf("%s is mounted for %s, not for %s\nmount it for this tool: jphost mount %s=PATH", show.Visible(mount), strings.Join(tools, ", "), show.Visible(k.Tool.Name), show.Word(k.Tool.Name+":"+mount)))
			return
		}
	}
}

// elsewhere warns when a path of the call exists relative to the working directory but not relative to the root
// of the workspace. It names only what the tool may read.
func (k *call) elsewhere() {
	below, err := filepath.Rel(k.Root, k.Cwd)
	if k.Cwd == "" || err != nil || below == "." || !filepath.IsLocal(below) || k.holdsBack() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.args)) {
		text, ok := k.args[name].(string)
		if !ok || !filepath.IsLocal(text) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(k.Root, text)); err == nil {
			continue
		}
		meant := filepath.Join(below, text)
		if _, err := os.Lstat(filepath.Join(k.Root, meant)); err != nil {
			continue
		}
		if e, err := k.policy.ExplainFS("read", filepath.ToSlash(meant)); err == nil && e.Allowed {
			k.warn(fmt.Sprintf("paths are relative to the root of the workspace, not to the working directory: did you mean %s?", show.Word(name+"="+filepath.ToSlash(meant))))
			return
		}
	}
}

// verbs say what the built-in tools do to the paths that a call names.
var verbs = map[string]string{
	"fs_read_file": "read", "fs_list_files": "list", "fs_grep_files": "search",
	"fs_create_file": "create", "fs_modify_file": "change", "fs_delete_file": "delete", "fs_move_file": "move",
}

// paths names the paths of a call, or is "" if it has none. data is that of a preview, which names where a path leads; name
// writes one of them for a question.
func paths(data json.RawMessage, args map[string]any, name func(string) string) string {
	var seen map[string]any
	_ = json.Unmarshal(data, &seen) // a preview may have other data
	for _, from := range []map[string]any{seen, args} {
		source, target := pathOf(from["source"]), pathOf(from["target"])
		if source != "" && target != "" {
			return name(source) + " to " + name(target)
		}
		for _, key := range []string{"path", "paths", "files", "file", "prefixes", "target", "source"} {
			list, ok := from[key].([]any)
			if !ok {
				list = []any{from[key]}
			}
			var names []string
			for _, item := range list {
				names = append(names, pathOf(item))
			}
			if text := firstOf(names, name); text != "" {
				return text
			}
		}
	}
	return ""
}

func firstOf(names []string, name func(string) string) string {
	switch {
	case len(names) == 0 || names[0] == "":
		return ""
	case len(names) == 1:
		return name(names[0])
	}
	return fmt.Sprintf("%s and %d more", name(names[0]), len(names)-1)
}

// pathOf returns the path in a value: the text itself, or the member "path" of an object.
func pathOf(v any) string {
	if m, ok := v.(map[string]any); ok {
		v = m["path"]
	}
	text, _ := v.(string)
	return text
}

// ForModel removes absolute paths from a message of the host: paths in the workspace become relative to it, and all
// others become "(outside the workspace)". A person sees the unchanged message on standard error. A path ends at a blank,
// unless it is quoted or one of known. After a path of the workspace or of known the search goes on, also within quotes.
// Without a root all absolute paths lie outside.
func ForModel(text, root string, known ...string) string {
	root = filepath.ToSlash(root)
	var b strings.Builder
	for {
		at := pathBegin().FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		i := at[3]
		end := ends(text, i)
		for _, path := range append([]string{root}, known...) {
			path = filepath.ToSlash(path)
			rest, ok := strings.CutPrefix(text[i:], path)
			if len(path) > 1 && ok && !longerName().MatchString(rest) {
				if end = i + len(path); strings.HasPrefix(rest, "/") {
					end = ends(text, end)
				}
				break
			}
		}
		rel, in := wspath.WithinAbs(root, text[i:end])
		in = in && root != ""
		switch {
		case in && rel == "":
			rel = "."
		case !in:
			rel = "(outside the workspace)"
		}
		b.WriteString(text[:i] + rel)
		text = text[end:] // it begins with what can follow a path, so that no path begins there without its slash
	}
}

// inPath are the characters of paths that nothing quotes, for an expression.
const inPath = `\x{80}-\x{10ffff}0-9A-Za-z._+~@%$*{}-`

var (
	// pathBegin: an absolute path begins at a slash that is not part of a longer word.
	pathBegin  = settings.Pattern(`(^|[^/)` + inPath + `])/[` + inPath + `]`)
	longerName = settings.Pattern(`^[` + inPath + `]`)
)

// pathEnd is what follows a path and is no part of it: the line and column of `file:line:column`, and the punctuation
// of the sentence.
var pathEnd = settings.Pattern(`(?::[0-9]+){0,2}[.:]*$`)

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
	return i + n - len(pathEnd().FindString(text[i:i+n]))
}

// WithoutRemedy leaves of a refusal or a warning what is so and why: the first line, and what is indented below it. The
// other lines say what a person can do about it, such as allow it. A model that reads them takes that way itself.
func WithoutRemedy(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			first += "\n" + line
		}
	}
	return first
}

// howTo is what [call.how] says about answers. The questions of an assistant keep it.
var howTo = settings.Pattern(
	`\n(?:answer (?:it|them) with: --answer|to answer only what was shown here, add: --answer) [^\n]*`,
)

// forModel takes out of the report's messages what a model is not told: a model gets the report, a person the error.
func (k *call) forModel() {
	known := []string{k.State.Base(), jptool.LookupEnv(k.Environ, "HOME")}
	for _, l := range k.Config.Layers() {
		known = append(known, l.File)
	}
	if k.policy != nil && k.policy.Access != nil {
		for _, r := range k.policy.Access.FS {
			if r.ApprovedTarget != nil {
				known = append(known, *r.ApprovedTarget)
			}
		}
	}
	o := &k.report.Outcome
	if o.Type == "refused" || o.Type == "failed" {
		o.Message = ForModel(o.Message, k.Root, known...)
	}
	switch {
	case o.Type == "refused":
		o.Message = WithoutRemedy(o.Message)
	case o.Question != nil && o.Question.Target == "user":
		o.Message = howTo().ReplaceAllString(o.Message, "")
	}
	for i, w := range k.report.Warnings {
		k.report.Warnings[i] = ForModel(WithoutRemedy(w), k.Root, known...)
	}
}
