package cli

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool/cmdline"
)

type completionCmd struct {
	Shell string
}

func (c *completionCmd) form(f *cmdline.Form) {
	f.Word(&c.Shell, "shell", "bash, zsh or fish.").OneOf = []string{"bash", "zsh", "fish"}
}

func (completionCmd) Help() string {
	return `Examples:

  source <(jphost completion bash)     # in ~/.bashrc
  source <(jphost completion zsh)      # in ~/.zshrc, after compinit
  jphost completion fish | source      # in ~/.config/fish/config.fish`
}

// Run implements the command.
func (c *completionCmd) Run(a *app) error {
	commands := collect(program, "")
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
	// alone: no word follows, only flags.
	alone bool
}

type word struct {
	name, help string
	valued     bool     // a flag that takes the next word
	enum       []string // one of these, if there are any
}

func collect(c *command, path string) []words {
	var r runner
	if c.make != nil {
		r = c.make()
	}
	f := formOf(r, &globals{})
	w := words{path: path, alone: len(c.subs)+len(f.Words) == 0}
	w.flags = append(w.flags, word{name: "--help", help: helpHelp})
	for _, flag := range f.Flags {
		w.flags = append(w.flags, word{name: "--" + flag.Name, help: flag.Help, valued: flag.Needs(), enum: flag.OneOf})
	}
	for _, p := range f.Words {
		w.tools = w.tools || p.Name == "tool" || p.Name == "question"
		w.enum = append(w.enum, p.OneOf...)
	}
	list := []words{w}
	for _, sub := range c.subs {
		list[0].subs = append(list[0].subs, word{name: sub.name, help: sub.help})
		list = append(list, collect(sub, strings.TrimSpace(path+" "+sub.name))...)
	}
	return list
}

// shellCase is the table of all commands for shells with `case`. Flags are offered to who has begun one,
// and where nothing else can follow.
func shellCase(commands []words) string {
	var b strings.Builder
	for _, w := range commands {
		var list, flags []string
		for _, s := range w.subs {
			list = append(list, s.name)
		}
		for _, f := range w.flags {
			flags = append(flags, f.name)
		}
		list = append(list, w.enum...)
		if w.alone {
			list = flags
		}
		tools := ""
		if w.tools {
			tools = "; tools=1"
		}
		fmt.Fprintf(&b, "    '%s') words='%s'; flags='%s'%s ;;\n", w.path, strings.Join(list, " "), strings.Join(flags, " "), tools)
	}
	return b.String()
}

// enums are the flags that take one of a few words.
func enums(commands []words) string {
	known := map[string]bool{}
	for _, w := range commands {
		for _, f := range w.flags {
			if f.enum != nil {
				known["  "+f.name+") words='"+strings.Join(f.enum, " ")+"' ;;\n"] = true
			}
		}
	}
	return strings.Join(sortedKeys(known), "")
}

// What is only known when the key is pressed comes from `jphost … --names`, which prints nothing that a
// shell would make something of. It goes through no expansion all the same.
func bash(commands []words) string {
	return `# bash completion of jphost; written by: jphost completion bash
_jphost() {
  local cur="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}" path='' next='' words='' flags='' tools='' tool='' more='' program='' w i
  local valued=' ` + valued(commands) + ` '
  # bash takes --flag=value for three words.
  [[ $flag == = ]] && flag="${COMP_WORDS[COMP_CWORD-2]}="
  [[ $cur == = ]] && flag+== && cur=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    w="${COMP_WORDS[i]}"
    if [[ $w == -* ]]; then
      [[ $w == -- && $path == 'sandbox '* ]] && program=$((i+1)) && break
      if [[ ${COMP_WORDS[i+1]} == = ]]; then
        ((i += 2))
      elif [[ $valued == *" $w "* ]]; then
        ((i++))
      fi
      continue
    fi
    [[ $path == 'sandbox exec' ]] && program=$i && break
    next="${path:+$path }$w"
    case "$next" in
` + pathCase(commands) + `      *) [[ -n $tool ]] && more=1 || tool="$w" ;;
    esac
  done
  [[ $path == 'sandbox exec' && $cur != -* && $flag != *= && $valued != *" $flag "* ]] && program="${program:-$COMP_CWORD}"
  COMPREPLY=()
  if [[ -n $program ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$program"
    elif ((COMP_CWORD == program)); then
      while read -r w; do COMPREPLY+=("$w"); done < <(compgen -c -- "$cur")
    else
      compopt -o default 2>/dev/null
    fi
    return
  fi
  case "$path" in
` + shellCase(commands) + `  esac
  [[ $cur == -* ]] && words="$flags"
  case "${flag%=}" in
` + enums(commands) + `  *)
    if [[ $flag == *= || $valued == *" $flag "* ]]; then
      words=''
    elif [[ $cur != -* ]]; then
      case "$path" in
      run) if [[ -n $tool ]]; then words=" $(jphost tools "$tool" --names 2>/dev/null | sed 's/$/=/')"; compopt -o nospace 2>/dev/null; fi ;;
      explain) if [[ -n $more ]]; then words=''; elif [[ -n $tool ]]; then words='` + questions + `'; fi ;;
      unmount | 'approvals approve' | 'approvals revoke') words+=" $(jphost mounts --names 2>/dev/null)" ;;
      esac
      [[ -n $tools && -z $tool ]] && words+=" $(jphost tools --names 2>/dev/null)"
    fi
    ;;
  esac
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
	rename := strings.NewReplacer("words=", "words_=", "path=", "path_=").Replace
	return `#compdef jphost
# zsh completion of jphost; written by: jphost completion zsh
_jphost() {
  local cur="${words[CURRENT]}" flag="${words[CURRENT-1]}" path_='' next='' words_='' flags='' tools='' tool='' more='' program='' w i
  local valued=' ` + valued(commands) + ` '
  for ((i = 2; i < CURRENT; i++)); do
    w="${words[i]}"
    if [[ $w == -* ]]; then
      [[ $w == -- && $path_ == 'sandbox '* ]] && program=$((i+1)) && break
      [[ $valued == *" $w "* ]] && ((i++))
      continue
    fi
    [[ $path_ == 'sandbox exec' ]] && program=$i && break
    next="${path_:+$path_ }$w"
    case "$next" in
` + rename(pathCase(commands)) + `      *) [[ -n $tool ]] && more=1 || tool="$w" ;;
    esac
  done
  [[ $path_ == 'sandbox exec' && $cur != -* && $valued != *" $flag "* ]] && program="${program:-$CURRENT}"
  if [[ -n $program ]]; then
    words=("${(@)words[program,-1]}")
    ((CURRENT -= program - 1))
    _normal
    return
  fi
  case "$path_" in
` + rename(shellCase(commands)) + `  esac
  [[ $cur == -* ]] && words_="$flags"
  if [[ $cur == *=* ]]; then
    flag="${cur%%=*}="
    compset -P '*='
  fi
  case "${flag%=}" in
` + rename(enums(commands)) + `  *)
    if [[ $flag == *= || $valued == *" $flag "* ]]; then
      _files
      return
    elif [[ $cur != -* ]]; then
      case "$path_" in
      run) if [[ -n $tool ]]; then compadd -S '' -- ${(f)"$(jphost tools "$tool" --names 2>/dev/null | sed 's/$/=/')"} || _files; return; fi ;;
      explain) if [[ -n $more ]]; then words_=''; elif [[ -n $tool ]]; then words_='` + questions + `'; fi ;;
      unmount | 'approvals approve' | 'approvals revoke') words_+=" $(jphost mounts --names 2>/dev/null)" ;;
      esac
      [[ -n $tools && -z $tool ]] && words_+=" $(jphost tools --names 2>/dev/null)"
    fi
    ;;
  esac
  compadd -- ${=words_} || _files
}
if [[ "$funcstack[1]" == _jphost ]]; then
  _jphost "$@"
else
  compdef _jphost jphost
fi
`
}
