package call

import (
	"encoding/json"
	"fmt"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
)

// verbs say what the built-in tools do to the paths that a call names.
var verbs = map[string]string{
	"fs_read_file": "read", "fs_list_files": "list", "fs_grep_files": "search",
	"fs_create_file": "create", "fs_modify_file": "change", "fs_delete_file": "delete", "fs_move_file": "move",
}

// doing says in a few words what the call does, for the question to a person: the tool, and the path that
// it is about. data is the data of a preview, which names where a path leads. Without it, the path is
// the one in the arguments.
func (k *call) doing(data json.RawMessage) string {
	what := show.Name(k.Tool.Name) + " "
	verb := ""
	if k.Tool.Command.Origin.Layer == settings.LayerDefault {
		verb = verbs[k.Tool.Name]
	}
	path := paths(data, k.args)
	switch {
	case path == "":
		return what + "run"
	case verb == "":
		return what + "run with " + path
	}
	return what + verb + " " + path
}

// paths names the paths of a call, or is "" if it has none.
func paths(data json.RawMessage, args map[string]any) string {
	var seen map[string]any
	_ = json.Unmarshal(data, &seen) // a preview may have other data
	for _, from := range []map[string]any{seen, args} {
		source, target := pathOf(from["source"]), pathOf(from["target"])
		if source != "" && target != "" {
			return show.Name(source) + " to " + show.Name(target)
		}
		for _, key := range []string{"path", "paths", "files", "file", "prefixes", "target", "source"} {
			if text := several(from[key]); text != "" {
				return text
			}
		}
	}
	return ""
}

// several names the first of a list of paths, and how many more there are.
func several(v any) string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var names []string
	for _, item := range list {
		names = append(names, pathOf(item))
	}
	return firstOf(names)
}

func firstOf(names []string) string {
	switch {
	case len(names) == 0 || names[0] == "":
		return ""
	case len(names) == 1:
		return show.Name(names[0])
	}
	return fmt.Sprintf("%s and %d more", show.Name(names[0]), len(names)-1)
}

// pathOf returns the path in a value: the text itself, or the member "path" of an object.
func pathOf(v any) string {
	if m, ok := v.(map[string]any); ok {
		v = m["path"]
	}
	text, _ := v.(string)
	return text
}
