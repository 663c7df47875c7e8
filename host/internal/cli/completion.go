package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `Examples:

  source <(jphost completion bash)
  jphost completion zsh > ~/.zfunc/_jphost
  jphost completion fish > ~/.config/fish/completions/jphost.fish`
}

// Run implements the command.
func (c *completionCmd) Run(a *app) error {
	commands := collect(a.model.Node, "")
	script := map[string]func([]words) string{"bash": bash, "zsh": zsh, "fish": fish}[c.Shell]
	a.out.printf("%s", script(commands))
	return nil
}

// words are what can follow one command, in the order of the help.
type words struct {
	path  string // "approvals list"; "" for the program itself
	subs  []word
	flags []word
	// tools: the next word is a tool.
	tools bool
	enum  []string
}

type word struct{ name, help string }

func collect(n *kong.Node, path string) []words {
	w := words{path: path}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			w.flags = append(w.flags, word{"--" + f.Name, f.Help})
		}
	}
	for _, p := range n.Positional {
		w.tools = w.tools || p.Name == "tool" || p.Name == "question"
		if p.Enum != "" {
			w.enum = append(w.enum, strings.Split(p.Enum, ",")...)
		}
	}
	list := []words{w}
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		list[0].subs = append(list[0].subs, word{child.Name, child.Help})
		list = append(list, collect(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return list
}

func (w words) candidates() string {
	var list []string
	for _, s := range w.subs {
		list = append(list, s.name)
	}
	list = append(list, w.enum...)
	for _, f := range w.flags {
		list = append(list, f.name)
	}
	return strings.Join(list, " ")
}

// shellCase is the table of all commands for shells with `case`.
func shellCase(commands []words) string {
	var b strings.Builder
	for _, w := range commands {
		tools := ""
		if w.tools {
			tools = "; tools=1"
		}
		fmt.Fprintf(&b, "    '%s') words='%s'%s ;;\n", w.path, w.candidates(), tools)
	}
	return b.String()
}

func bash(commands []words) string {
	return `# bash completion of jphost; written by: jphost completion bash
_jphost() {
  local cur="${COMP_WORDS[COMP_CWORD]}" path='' next='' words='' tools='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${path:+$path }${COMP_WORDS[i]}"
    case "$next" in
` + pathCase(commands) + `      *) ;;
    esac
  done
  case "$path" in
` + shellCase(commands) + `  esac
  if [[ -n $tools && $cur != -* ]]; then
    words+=" $(jphost tools --names 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _jphost jphost
`
}

// pathCase follows the words before the cursor to the command that they make up.
func pathCase(commands []words) string {
	var b strings.Builder
	for _, w := range commands {
		if w.path != "" {
			fmt.Fprintf(&b, "      '%s') path=\"$next\" ;;\n", w.path)
		}
	}
	return b.String()
}

func zsh(commands []words) string {
	return `#compdef jphost
# zsh completion of jphost; written by: jphost completion zsh
_jphost() {
  local path_='' next='' words_='' tools='' i
  for ((i = 2; i < CURRENT; i++)); do
    next="${path_:+$path_ }${words[i]}"
    case "$next" in
` + strings.ReplaceAll(pathCase(commands), "path=", "path_=") + `      *) ;;
    esac
  done
  case "$path_" in
` + strings.ReplaceAll(shellCase(commands), "words=", "words_=") + `  esac
  if [[ -n $tools ]]; then
    words_+=" $(jphost tools --names 2>/dev/null)"
  fi
  compadd -- ${=words_} || _files
}
if [[ "$funcstack[1]" == _jphost ]]; then
  _jphost "$@"
else
  compdef _jphost jphost
fi
`
}

func fish(commands []words) string {
	var b strings.Builder
	b.WriteString("# fish completion of jphost; written by: jphost completion fish\n")
	for _, w := range commands {
		condition := "__fish_use_subcommand"
		if w.path != "" {
			condition = ""
			for part := range strings.FieldsSeq(w.path) {
				if condition != "" {
					condition += "; and "
				}
				condition += "__fish_seen_subcommand_from " + part
			}
		}
		line := func(rest string) { fmt.Fprintf(&b, "complete -c jphost -n '%s' %s\n", condition, rest) }
		for _, s := range w.subs {
			line("-f -a " + s.name + " -d " + fishQuote(s.help))
		}
		for _, f := range w.flags {
			line("-l " + strings.TrimPrefix(f.name, "--") + " -d " + fishQuote(f.help))
		}
		for _, e := range w.enum {
			line("-f -a " + e)
		}
		if w.tools {
			line("-f -a '(jphost tools --names 2>/dev/null)'")
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
