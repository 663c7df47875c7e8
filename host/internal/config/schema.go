package config

import (
	"slices"
	"sync"
)

// schema is the one definition of all keys: what is not here is refused. It is built at
// the first use and never changed.
var schema = sync.OnceValue(func() *node {
	return table(
		field{key: "conversation", doc: "What a conversation may use.", node: table(
			field{key: "tools", doc: "The tools, by the name that the model calls them.", node: &node{
				kind: nodeMap, elem: toolNode(), keyCheck: checkToolName,
			}},
		)},
		field{key: "sandbox", doc: "How tools are held by the operating system.", node: sandboxNode()},
		field{
			key: "inherit", def: "true", node: &node{kind: nodeBool},
			doc: "`false` stops the loading of further files. In a file of the repository it stops only further files of the repository.",
		},
		field{key: "extends", node: never("is not supported", "write what the other file says here, or pass it with --cfg PATH")},
	)
})

// defaultsName is the key of the table with the defaults of all tools.
const defaultsName = "*"

func table(fields ...field) *node { return &node{kind: nodeTable, fields: fields} }

func text() *node { return &node{kind: nodeString} }

func enum(words ...string) *node { return &node{kind: nodeString, enum: words} }

func union(alts ...*node) *node { return &node{kind: nodeUnion, alts: alts} }

func list(elem *node) *node { return &node{kind: nodeList, elem: elem} }

func free() *node { return &node{kind: nodeFree} }

func never(refusal, remedy string) *node {
	return &node{kind: nodeNever, refusal: refusal, remedy: remedy}
}

func boolean() *node { return &node{kind: nodeBool} }

func toolNode() *node {
	return table(
		field{key: "source", doc: "Where the tool comes from: `builtin[.NAME]`, `local[.NAME]` or `mcp.SERVER[.TOOL]`. Required once all layers are merged.", node: &node{kind: nodeString, check: checkSource}},
		field{key: "enable", def: "`{ state = \"on\", allow_toggle = \"any\" }`", doc: "Whether the model is offered the tool. `always` cannot be switched off, `explicit` is off until named.", node: enableNode()},
		field{key: "command", doc: "What a local tool runs: words as a POSIX shell splits them, without any expansion, or a table. Replaced whole.", node: commandNode()},
		field{key: "summary", doc: "One sentence for the model.", node: text()},
		field{key: "description", doc: "The longer text for the model.", node: text()},
		field{key: "examples", doc: "Examples for the model.", node: text()},
		field{key: "parameters", doc: "The arguments, by name. Any other is refused.", node: &node{kind: nodeMap, elem: parameterNode()}},
		field{key: "run", def: "`ask`", doc: "Whether a call is asked for, runs at once, may be edited first, or never runs.", node: enum("ask", "unattended", "edit", "skip")},
		field{key: "format", def: "`unattended` if `run` is, else `ask`", doc: "Whether a preview is made before or after the question.", node: enum("ask", "unattended")},
		field{key: "result", def: "`unattended`", doc: "What happens to a result before the model gets it.", node: enum("unattended", "ask", "edit", "skip")},
		field{key: "cancellation_response", doc: "What the model is told of a call that was cancelled.", node: text()},
		field{key: "style", doc: "How calls are shown. A tool's table replaces that of the defaults.", node: styleNode()},
		field{key: "questions", doc: "The tool's questions, by id.", node: &node{kind: nodeMap, elem: questionNode()}},
		field{key: "options", doc: "Behaviour that the user sets and the model cannot. Merged deeply; lists are replaced, or combined by `{ value, strategy }`.", node: &node{kind: nodeFree, check: checkOptions}},
		field{key: "access", doc: "What the tool may do (local tools only). A type that is not written has its default; one that is written grants only what its rules say.", node: accessNode()},
		field{key: "needs", doc: "The most that the tool ever uses.", node: table(
			field{key: "fs", doc: "Capabilities; what `access` grants beyond them is not handed on.", node: list(enum("read", "write", "create", "update", "delete", "execute"))},
		)},
		field{key: "limits", doc: "What one call may use.", node: limitsNode()},
	)
}

// defaultsKeys are the keys that the table '*' may have.
var defaultsKeys = []string{"access", "cancellation_response", "enable", "format", "limits", "result", "run", "style"}

// defaultsNode is the schema of the table '*', made from that of a tool. It has no
// rules: a grant there would reach tools that nobody thought of.
func defaultsNode(tool *node) *node {
	kept := table()
	for _, f := range tool.fields {
		switch {
		case f.key == "access":
			f.node = table(*f.node.field("sensitive_paths"))
			for _, k := range []string{"fs", "net", "env", "commands"} {
				f.node.fields = append(f.node.fields, field{key: k, node: never("cannot be given for all tools at once",
					"write it below conversation.tools.NAME of each tool that needs it")})
			}
		case !slices.Contains(defaultsKeys, f.key):
			f.node = never("belongs to one tool, not to the defaults", "write it below conversation.tools.NAME")
		}
		kept.fields = append(kept.fields, f)
	}
	return kept
}

func enableNode() *node {
	state := union(boolean(), enum("on", "off"))
	return &node{kind: nodeUnion, normal: normalEnable, alts: []*node{
		boolean(),
		enum("on", "off", "always", "explicit"),
		table(
			field{key: "state", def: "`on`", doc: "Whether it is offered.", node: state},
			field{key: "allow_toggle", def: "`any`", doc: "Who may switch it.", node: enum("any", "never", "if_named", "if_named_or_group")},
		),
	}}
}

// normalEnable writes the short forms of enable as the table that they stand for. `on`
// and `off` leave allow_toggle to lower layers.
func normalEnable(v *Value) {
	short := v.text
	if v.Kind == Bool {
		short = map[bool]string{true: "on", false: "off"}[v.flag]
	}
	if v.Kind == Table {
		if s := v.fields["state"]; s != nil && s.Kind == Bool {
			s.Kind, s.text = String, map[bool]string{true: "on", false: "off"}[s.flag]
		}
		return
	}
	at := v.Origin
	*v = *newTable(at)
	add := func(key, word string) {
		o := at
		o.Key = joinKey(at.Key, key)
		v.set(key, &Value{Kind: String, Origin: o, text: word})
	}
	switch short {
	case "always":
		add("state", "on")
		add("allow_toggle", "never")
	case "explicit":
		add("state", "off")
		add("allow_toggle", "if_named")
	default:
		add("state", short)
	}
}

func commandNode() *node {
	return &node{kind: nodeUnion, whole: true, alts: []*node{
		{kind: nodeString, check: checkCommandLine},
		table(
			field{key: "program", required: true, doc: "The program; with `shell`, the script.", node: &node{kind: nodeString, check: notEmpty("program")}},
			field{key: "args", doc: "Its arguments.", node: list(text())},
			field{key: "shell", def: "`false`", doc: "Hand `program` to `sh -c` as it is.", node: boolean()},
		),
	}}
}

func parameterNode() *node {
	n := &node{kind: nodeTable, name: "parameter"}
	types := enum("string", "number", "integer", "boolean", "array", "object", "null")
	n.fields = []field{
		{key: "type", doc: "One JSON type, or a list of them. Required once all layers are merged.", node: union(types, &node{kind: nodeList, elem: types, check: checkTypes})},
		{key: "default", doc: "What is passed when the argument is absent.", node: free()},
		{key: "required", def: "`false`", doc: "Whether it must be given.", node: boolean()},
		{key: "summary", doc: "One sentence for the model.", node: text()},
		{key: "description", doc: "The longer text for the model.", node: text()},
		{key: "examples", doc: "Examples for the model.", node: text()},
		{key: "enum", doc: "The only values allowed.", node: &node{kind: nodeList, elem: free(), check: checkEnum}},
		{key: "items", doc: "What a list holds; the same keys again.", node: n},
		{key: "properties", doc: "What an object holds, by name; the same keys again.", node: &node{kind: nodeMap, elem: n}},
	}
	return n
}

func styleNode() *node {
	inline := union(enum("off", "full"), &node{kind: nodeInt, check: positive("lines")})
	link := enum("full", "osc8", "off")
	return table(
		field{key: "hidden", def: "`false`", doc: "Show nothing of a call.", node: boolean()},
		field{key: "inline_results", def: "`10`", doc: "How many lines of a result are shown.", node: inline},
		field{key: "results_file_link", def: "`full`", doc: "How the file with the whole result is named.", node: link},
		field{key: "parameters", def: "`json`", doc: "How arguments are shown: `json`, `function_call`, `off`, or a command.", node: commandNode()},
		field{key: "error", doc: "The same for errors.", node: table(
			field{key: "inline_results", doc: "As above.", node: inline},
			field{key: "results_file_link", doc: "As above.", node: link},
		)},
	)
}

func questionNode() *node {
	return table(
		field{key: "target", def: "`user`", doc: "Who answers. A table overrides settings of the assistant.", node: union(enum("user", "assistant"), &node{kind: nodeMap, elem: free()})},
		field{key: "answer", doc: "A fixed answer; nobody is asked.", node: free()},
	)
}

func accessNode() *node {
	flag := func(key, doc string) field { return field{key: key, doc: doc, node: boolean()} }
	return table(
		field{key: "fs", doc: "Rules on paths; the one with the most components wins, of equals the last.", node: &node{kind: nodeRules, bare: "path", elem: table(
			field{key: "path", required: true, doc: "Relative to the workspace; `.` is all of it.", node: text()},
			flag("external", "The path is a link that leads outside; its target must be approved."),
			flag("read", "Read files, list directories."),
			flag("write", "Sets `create`, `update` and `delete`, unless they are set."),
			flag("create", "Make files and directories."),
			flag("update", "Change files."),
			flag("delete", "Remove files and directories."),
			flag("execute", "Run files."),
		)}},
		field{key: "net", doc: "Rules on network targets.", node: &node{kind: nodeRules, bare: "host", elem: table(
			field{key: "host", required: true, doc: "A host name or address, or `*`.", node: text()},
			field{key: "scheme", doc: "Any if absent.", node: text()},
			field{key: "port", doc: "The scheme's default if absent.", node: &node{kind: nodeInt, check: checkPort}},
			field{key: "path_prefix", doc: "Any path if absent.", node: text()},
			flag("allow", "Whether requests are allowed."),
		)}},
		field{key: "env", doc: "Rules on environment variables.", node: &node{kind: nodeRules, bare: "name", elem: table(
			field{key: "name", required: true, doc: "The exact name, or a prefix with `*` at its end.", node: text()},
			flag("read", "Whether the tool gets it."),
		)}},
		field{key: "commands", doc: "The programs that may be started, by name; an empty table allows none.", node: &node{kind: nodeMap, annotated: true, elem: table(
			field{key: "args", doc: "Lists of leading arguments; a last `**` stands for any rest. Any arguments if absent.", node: list(list(text()))},
			field{key: "envs", doc: "Of the variables that the tool gets, those that the program gets.", node: list(text())},
		)}},
		field{key: "sensitive_paths", doc: "Paths that are warned of; only ever added to.", node: &node{kind: nodeAdded, elem: &node{kind: nodeString, check: checkSensitivePath}}},
	)
}

func limitsNode() *node {
	size := func(key, doc string) field {
		return field{key: key, doc: doc, node: union(intNode("bytes"), sizeNode())}
	}
	return table(
		field{key: "time", def: "`120`", doc: "Seconds, or a duration such as `\"2m\"`, until the call is ended.", node: union(&node{kind: nodeNumber, check: checkSeconds}, &node{kind: nodeString, check: checkDuration})},
		field{key: "output", def: "`64MiB`", doc: "Bytes of output, or a size such as `\"1MiB\"`.", node: union(intNode("bytes"), sizeNode())},
		size("memory", "Bytes of memory."),
		field{key: "processes", doc: "Processes and threads at a time.", node: intNode("processes")},
		field{key: "cpu_seconds", doc: "Seconds of processor time.", node: &node{kind: nodeNumber, check: checkSeconds}},
		size("file_size", "Bytes of any one file written."),
	)
}

func sandboxNode() *node {
	flag := func(key, doc string) field { return field{key: key, doc: doc, node: boolean()} }
	return table(
		field{key: "mode", def: "`auto`", doc: "`auto` warns of what cannot be enforced, `required` refuses, `off` does without.", node: enum("auto", "required", "off")},
		field{key: "tier", def: "`auto`", doc: "Forces a way of enforcing.", node: enum("auto", "landlock", "namespace")},
		field{key: "paths", own: true, doc: "More paths that programs need to run: to read and execute, where none of the three is written. Only from the user's own configuration.", node: &node{kind: nodeRules, bare: "path", elem: table(
			field{key: "path", required: true, doc: "Absolute, or below `~/`.", node: &node{kind: nodeString, check: checkSandboxPath}},
			flag("read", "Read below it."),
			flag("write", "Write below it."),
			flag("execute", "Run programs below it."),
		)}},
	)
}
