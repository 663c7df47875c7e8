package trust

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
)

// A script is a file whose content is what a command runs: the program of the command, the file that an interpreter is
// given, and the same of every command in a shell script. Everything else that a command names is data, unless
// it is executable or begins with `#!`: then a program that is not known here may run it.

// named is a word of a command that may name a file of the workspace. A word that is not a script counts if the file
// can be executed.
type named struct {
	word   string
	script bool
}

// scripts are the words of a command that may name scripts. sure is false if a shell script cannot be understood: then
// every word of it may be one.
func scripts(c config.Command) (list []named, sure bool) {
	argv := append([]string{c.Program}, c.Args...)
	if !c.Shell {
		return ofWords(argv)
	}
	list, sure = ofShell(c.Program, 0)
	for _, arg := range c.Args {
		list = append(list, named{arg, false})
	}
	return list, sure
}

// interpreter is a program that runs a file which it is given.
type interpreter struct {
	// code are the options whose value, or next word, is code instead of a file; the words after it are data. shell says
	// that the code is a shell script. Options with a value that names a file are found without being known.
	code  string
	shell bool
	// files are the only options whose value is run, if the other words are data.
	files []string
	// sub are words that may stand before the file.
	sub []string
}

var (
	shell    = interpreter{code: "c", shell: true}
	program  = interpreter{files: []string{"-f", "--file"}}
	makefile = interpreter{files: []string{"-f", "--file", "--makefile"}}
)

var interpreters = map[string]interpreter{
	"sh": shell, "bash": shell, "dash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "ash": shell,
	"fish": shell, "python": {code: "cm"}, "pypy": {code: "cm"}, "node": {code: "ep"}, "nodejs": {code: "ep"},
	"ruby": {code: "e"}, "perl": {code: "eE"}, "php": {code: "rBE"}, "lua": {code: "e"}, "luajit": {code: "e"},
	"tclsh": {}, "wish": {}, "expect": {code: "c"}, "guile": {code: "c"},
	"deno": {sub: []string{"run", "test", "eval"}}, "bun": {code: "e", sub: []string{"run", "test"}}, "tsx": {},
	"ts-node": {code: "e"}, "go": {sub: []string{"run"}}, "Rscript": {code: "e"}, "julia": {code: "eE"},
	"java": {}, "groovy": {code: "e"}, "elixir": {code: "e"}, "pwsh": {code: "c"}, "powershell": {code: "c"},
	"swift": {}, "ocaml": {}, "runghc": {}, "bats": {}, "racket": {code: "e"}, "make": makefile, "gmake": makefile,
	"just": {files: []string{"-f", "--justfile"}}, "awk": program, "gawk": program,
	"mawk": {files: []string{"-f"}}, "sed": program, "jq": {files: []string{"-f", "--from-file"}}, ".": {},
	"source": {},
}

// wrappers run the command that follows their own options.
var wrappers = []string{
	"env", "timeout", "nice", "nohup", "xargs", "time", "exec", "command", "builtin", "stdbuf", "setsid",
	"ionice", "chrt", "taskset", "sudo", "doas", "flock", "unshare", "busybox", "uv", "uvx", "npx", "pnpm",
	"yarn", "npm", "poetry", "pipenv", "bundle", "hatch", "run", "direnv", "watch", "strace", "ltrace",
}

// extensions are those of scripts, for wrappers that know by them what to run.
var extensions = []string{
	".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", ".sh", ".bash", ".zsh", ".rb", ".pl", ".php",
	".lua", ".r", ".R", ".jl",
}

// programName is the name of a program without its directory and version.
func programName(word string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
	if bare := strings.TrimRight(name, "0123456789.-"); bare != "" {
		name = bare
	}
	return name
}

// expanded stands for a word of a shell script that the shell expands, so that nobody knows what it is.
const expanded = "\x00"

// ofWords are the scripts of a command in words.
func ofWords(argv []string) (list []named, sure bool) {
	if len(argv) == 0 {
		return nil, true
	}
	program := argv[0]
	if program == expanded {
		list, _ := ofWords(argv[1:])
		return list, false
	}
	list = append(list, named{program, strings.ContainsAny(program, `/\`)})
	name := programName(program)
	sure = true
	if slices.Contains(wrappers, name) {
		for i := 1; i < len(argv); i++ {
			if argv[i] == expanded { // it may be the command
				sure = false
				continue
			}
			word := programName(argv[i])
			_, runs := interpreters[word]
			isPath := strings.ContainsAny(argv[i], `/\`) && !strings.HasPrefix(argv[i], "-") && !strings.Contains(argv[i], "=")
			if runs || isPath || slices.Contains(wrappers, word) {
				inner, understood := ofWords(argv[i:])
				return append(list, inner...), sure && understood
			}
		}
		for _, arg := range argv[1:] { // such as uv run tool.py
			list = append(list, values(arg, slices.Contains(extensions, path.Ext(arg)))...)
		}
		return list, sure
	}
	if in, ok := interpreters[name]; ok {
		inner, sure := in.run(argv[1:])
		return append(list, inner...), sure
	}
	for _, arg := range argv[1:] {
		list = append(list, values(arg, false)...)
	}
	return list, true
}

// values are a word, and what follows a = in it.
func values(word string, script bool) []named {
	if word == expanded {
		return nil
	}
	list := []named{{word, script}}
	if _, value, ok := strings.Cut(word, "="); ok {
		list = append(list, named{value, script})
	}
	return list
}

// ofShell reads a shell script.
func ofShell(script string, depth int) (list []named, sure bool) {
	if depth > 4 {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	sure = true
	syntax.Walk(file, func(n syntax.Node) bool {
		stmt, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		argv := make([]string, len(call.Args))
		for i, arg := range call.Args {
			argv[i] = expanded
			if literal, ok := literally(arg); ok {
				argv[i] = literal
			} else if name, ok := assigns(arg); ok {
				argv[i] = name
			}
		}
		if argv[0] == "eval" {
			sure = false
		}
		found, understood := ofWords(argv)
		if _, runs := interpreters[programName(argv[0])]; runs {
			// Without a file an interpreter reads what it runs from its input.
			for _, r := range stmt.Redirs {
				if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut {
					input, literal := literally(r.Word)
					found, understood = append(found, named{input, true}), understood || literal
				}
			}
		}
		list, sure = append(list, found...), sure && understood
		return true
	})
	return list, sure
}

// literally is a word of a shell script that the shell does not expand.
func literally(w *syntax.Word) (text string, ok bool) {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(p.Value, `\`, "")
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit {
					return "", false
				}
				text += lit.Value
			}
		default:
			return "", false
		}
	}
	return text, true
}

// assigns returns the beginning of a word like NAME=$VALUE, as env takes it.
func assigns(w *syntax.Word) (name string, ok bool) {
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || strings.HasPrefix(lit.Value, "-") {
		return "", false
	}
	name, _, ok = strings.Cut(lit.Value, "=")
	return name + "=", ok
}

// run are what an interpreter with these arguments runs.
func (in interpreter) run(args []string) (list []named, sure bool) {
	value := false // the word may be the value of the option before it
	attached := func(word string) bool {
		return slices.ContainsFunc(in.files, func(o string) bool { return len(o) == 2 && len(word) > 2 && strings.HasPrefix(word, o) })
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == expanded && (in.files == nil || value):
			return list, false
		case in.files != nil:
			option, file, has := strings.Cut(word, "=")
			switch {
			case has && slices.Contains(in.files, option):
				list = append(list, named{file, true})
			case value || attached(word):
				list = append(list, named{strings.TrimPrefix(word, in.files[0]), true})
			default:
				list = append(list, values(word, false)...)
			}
			value = slices.Contains(in.files, word)
		case strings.HasPrefix(word, "-") && len(word) > 1 && word != "--":
			if in.isCode(word) {
				rest := args[i+1:]
				for _, arg := range rest {
					list = append(list, values(arg, false)...)
				}
				if !in.shell || len(rest) == 0 {
					return list, true
				}
				if rest[0] == expanded {
					return list, false
				}
				inner, sure := ofShell(rest[0], 1)
				return append(list, inner...), sure
			}
			list = append(list, values(word, true)...)
			value = !in.shell || strings.HasSuffix(strings.ToLower(word), "o") || strings.HasPrefix(word, "--") // set -o NAME
		case word == "--", slices.Contains(in.sub, word):
			value = false
		default:
			list = append(list, named{word, true})
			if value { // else it was the file itself
				value = false
				continue
			}
			for _, arg := range args[i+1:] {
				list = append(list, values(arg, false)...)
			}
			return list, true
		}
	}
	// Perhaps the last word was the file, perhaps the value of an option.
	return list, in.files != nil
}

// flags are the letters of options without a value that may stand before the letter of the code, as in -ec.
const flags = "abBdEhilnopqsStTuvwxe"

// isCode reports whether an option is followed by code, or has it.
func (in interpreter) isCode(option string) bool {
	if strings.HasPrefix(option, "--") {
		return strings.HasPrefix(option, "--eval") || strings.HasPrefix(option, "--print") || option == "--command"
	}
	if in.shell { // all its letters but o are flags
		return strings.Contains(option, "c")
	}
	for _, letter := range option[1:] {
		if strings.ContainsRune(in.code, letter) {
			return true
		}
		if !strings.ContainsRune(flags, letter) {
			return false
		}
	}
	return false
}

// command is one command of the repository with the setting of its program.
type command struct {
	at  config.Setting
	key string
	config.Command
}

// commands are the commands of the repository's layers, in their order. A file may write one key by key.
func commands(repository []config.Setting) (list []*command) {
	for _, s := range repository {
		parts := splitKey(s.Key)
		own := 4 // how many parts the key of a command itself has
		if len(parts) > 4 && parts[3] == "style" && parts[4] == "parameters" {
			own = 5
		} else if len(parts) < 4 || parts[3] != "command" {
			continue
		}
		key := settings.JoinKey(parts[:own]...)
		i := slices.IndexFunc(list, func(c *command) bool { return c.key == key && c.at.Origin.File == s.Origin.File })
		if i < 0 {
			i = len(list)
			list = append(list, &command{at: s, key: key})
		}
		c := list[i]
		switch {
		case len(parts) == own:
			if whole := config.ParseCommand(s.Value); whole != nil {
				c.Command = *whole
			}
		case parts[own] == "program":
			c.Program, _ = s.Value.Any().(string)
		case parts[own] == "args":
			c.Args = s.Value.Strings()
		case parts[own] == "shell":
			c.Shell = s.Value.Any() == true
		}
	}
	return list
}
