package cli

import (
	"fmt"
	"strings"
)

// fish is the completion for fish: a line for each thing that can follow a command, with the condition
// under which it can. fish evaluates equal conditions once for each key.
func fish(commands []words) string {
	var b strings.Builder
	var paths []string
	for _, w := range commands {
		if w.path != "" {
			paths = append(paths, fishQuote(w.path))
		}
	}
	b.WriteString(`# fish completion of jphost; written by: jphost completion fish
# The command before the cursor, and then the other words, one a line. For a program to be started the command is --.
function __jphost_words
  set -l paths ` + strings.Join(paths, " ") + `
  set -l valued ` + valued(commands) + `
  set -l path ''
  set -l rest
  set -l skip ''
  for w in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $w")
    if test "$path" = --
      set -a rest $w
    else if test -n "$skip"
      set skip ''
    else if test "$w" = --; and string match -q 'sandbox *' -- $path
      set path --
      set rest
    else if string match -q -- '-*' $w
      contains -- $w $valued; and set skip 1
    else if test "$path" = 'sandbox exec'
      set path --
      set rest $w
    else if test (count $rest) -eq 0; and contains -- $next $paths
      set path $next
    else
      set -a rest $w
    end
  end
  printf '%s\n' $path $rest
end
# Is COMMAND before the cursor, with N words after it?
function __jphost_at
  set -l words (__jphost_words)
  test "$words[1]" = "$argv[1]"; or return
  not set -q argv[2]; or test (count $words) -eq (math $argv[2] + 1)
end
function __jphost_program
  set -l words (__jphost_words)[2..-1]
  set -l line (string escape -- $words) (commandline -ct)
  complete -C "$line"
end
function __jphost_keys
  set -l words (__jphost_words)
  jphost tools $words[2] --names 2>/dev/null | string replace -r '$' '='
end
complete -c jphost -n '__jphost_at --' -x -a '(__jphost_program)'
complete -c jphost -n '__jphost_at "sandbox exec"' -x -a '(__fish_complete_command)'
complete -c jphost -n '__jphost_at run; and not __jphost_at run 0; and not string match -q "*=*" -- (commandline -ct)' -f -a '(__jphost_keys)'
complete -c jphost -n '__jphost_at explain 1' -f -a '` + questions + `'
complete -c jphost -n '__jphost_at unmount; or __jphost_at "approvals approve"; or __jphost_at "approvals revoke"' -f -a '(jphost mounts --names 2>/dev/null)'
`)
	for _, w := range commands {
		at := fmt.Sprintf("__jphost_at %q", w.path)
		line := func(when, rest string) { fmt.Fprintf(&b, "complete -c jphost -n '%s' %s\n", when, rest) }
		for _, s := range w.subs {
			line(at+" 0", "-f -a "+s.name+" -d "+fishQuote(s.help))
		}
		for _, f := range w.flags {
			more := ""
			if f.enum != nil {
				more = " -x -a '" + strings.Join(f.enum, " ") + "'"
			} else if f.valued {
				more = " -r"
			}
			line(at, "-l "+strings.TrimPrefix(f.name, "--")+more+" -d "+fishQuote(f.help))
		}
		for _, e := range w.enum {
			line(at+" 0", "-f -a "+e)
		}
		if w.tools {
			line(at+" 0", "-f -a '(jphost tools --names 2>/dev/null)'")
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
