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

type word struct {
	name, help string
	valued     bool // a flag that takes the next word
}

func collect(n *kong.Node, path string) []words {
	w := words{path: path}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			w.flags = append(w.flags, word{"--" + f.Name, f.Help, !f.IsBool() && f.Name != "no-mount"})
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
		list[0].subs = append(list[0].subs, word{name: child.Name, help: child.Help})
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

// What is only known when the key is pressed comes from `jphost … --names`, which prints nothing that a
// shell would make something of. It goes through no expansion all the same.
func bash(commands []words) string {
	return `# bash completion of jphost; written by: jphost completion bash
_jphost() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path='' next='' words='' tools='' tool='' more='' w i
  local valued=' ` + valued(commands) + ` '
  for ((i = 1; i < COMP_CWORD; i++)); do
    w="${COMP_WORDS[i]}"
    if [[ $w == -* ]]; then
      [[ $valued == *" $w "* ]] && ((i++))
      continue
    fi
    next="${path:+$path }$w"
    case "$next" in
` + pathCase(commands) + `      *) [[ -n $tool ]] && more=1 || tool="$w" ;;
    esac
  done
  case "$path" in
` + shellCase(commands) + `  esac
  if [[ $prev == --format ]]; then
    words='text json'
  elif [[ $cur == = || $prev == = || $valued == *" $prev "* ]]; then
    words=''
    [[ $cur == = ]] && cur=''
  elif [[ $cur != -* ]]; then
    case "$path" in
    run) if [[ -n $tool ]]; then words+=" $(jphost tools "$tool" --names 2>/dev/null | sed 's/$/=/')"; compopt -o nospace 2>/dev/null; fi ;;
    explain) if [[ -n $more ]]; then words=''; elif [[ -n $tool ]]; then words='` + questions + `'; fi ;;
    unmount | 'approvals approve' | 'approvals revoke') words+=" $(jphost mounts --names 2>/dev/null)" ;;
    esac
    [[ -n $tools && -z $tool ]] && words+=" $(jphost tools --names 2>/dev/null)"
  fi
  COMPREPLY=()
  while read -r w; do
    [[ -n $w && $w == "$cur"* ]] && COMPREPLY+=("$w")
  done < <(printf '%s\n' "$words" | tr -s ' ' '\n')
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
    compopt +o nospace -o default 2>/dev/null
  fi
}
complete -F _jphost jphost
`
}

// questions are what comes after `explain TOOL`.
const questions = "read create update delete execute write net env command -"

// valued are the flags that take the next word.
func valued(commands []words) string {
	known := map[string]bool{}
	for _, w := range commands {
		for _, f := range w.flags {
			if f.valued {
				known[f.name] = true
			}
		}
	}
	return "-C " + strings.Join(sortedKeys(known), " ")
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
  local cur="${words[CURRENT]}" prev="${words[CURRENT-1]}" path_='' next='' words_='' tools='' tool='' more='' w i
  local valued=' ` + valued(commands) + ` '
  for ((i = 2; i < CURRENT; i++)); do
    w="${words[i]}"
    if [[ $w == -* ]]; then
      [[ $valued == *" $w "* ]] && ((i++))
      continue
    fi
    next="${path_:+$path_ }$w"
    case "$next" in
` + strings.ReplaceAll(pathCase(commands), "path=", "path_=") + `      *) [[ -n $tool ]] && more=1 || tool="$w" ;;
    esac
  done
  case "$path_" in
` + strings.ReplaceAll(shellCase(commands), "words=", "words_=") + `  esac
  if [[ $prev == --format ]]; then
    words_='text json'
  elif [[ $cur == *=* ]]; then
    compset -P '*='
    _files
    return
  elif [[ $valued == *" $prev "* ]]; then
    _files
    return
  elif [[ $cur != -* ]]; then
    case "$path_" in
    run) [[ -n $tool ]] && compadd -S '' -- ${(f)"$(jphost tools "$tool" --names 2>/dev/null | sed 's/$/=/')"} ;;
    explain) if [[ -n $more ]]; then words_=''; elif [[ -n $tool ]]; then words_='` + questions + `'; fi ;;
    unmount | 'approvals approve' | 'approvals revoke') words_+=" $(jphost mounts --names 2>/dev/null)" ;;
    esac
    [[ -n $tools && -z $tool ]] && words_+=" $(jphost tools --names 2>/dev/null)"
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
	b.WriteString(`# fish completion of jphost; written by: jphost completion fish
function __jphost_tool
  set -l words (commandline -opc | string match -v -- '-*')
  test (count $words) -ge 3; and echo $words[3]
end
function __jphost_keys
  set -l tool (__jphost_tool); and jphost tools $tool --names 2>/dev/null | string replace -r '$' '='
end
complete -c jphost -n '__fish_seen_subcommand_from run' -a '(__jphost_keys)'
complete -c jphost -n '__fish_seen_subcommand_from explain; and test (count (__jphost_tool)) -gt 0' -a '` + questions + `'
complete -c jphost -n '__fish_seen_subcommand_from unmount approve revoke' -a '(jphost mounts --names 2>/dev/null)'
`)
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
			more := ""
			if f.name == "--format" {
				more = " -x -a 'text json'"
			} else if f.valued {
				more = " -r"
			}
			line("-l " + strings.TrimPrefix(f.name, "--") + more + " -d " + fishQuote(f.help))
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
