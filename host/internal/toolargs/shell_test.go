package toolargs

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/config"
)

func shells(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"sh", "bash", "dash"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("there is no shell")
	}
	return found
}

// words runs a script, in which W is a program that prints its words, and returns them.
func words(t fataler, shell, script string, args []string, values map[string]string) []string {
	t.Helper()
	tool, err := json.Marshal(map[string]any{"arguments": values})
	if err != nil {
		t.Fatalf("%v", err)
	}
	tmpl, err := Compile(config.Command{Program: script, Args: args, Shell: true})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	argv, err := tmpl.Render(request(`{}`, tool))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	argv[2] = `W() { printf '%s\0' "$@"; }; ` + argv[2]
	cmd := exec.Command(shell, argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s, %q: %v: %s", shell, argv[1:], err, &errs)
	}
	list := strings.Split(out.String(), "\x00")
	return list[:len(list)-1]
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// nasty is what a shell would make something of.
var nasty = []string{
	"", " ", "a b", "x'; W injected; '", `x"; W injected; "`, "$(echo injected)", "`echo injected`", "${HOME}", "$__jp1", "*", "/*", "~", "a\nb", "\n",
	"trailing\n\n", "\\", "\\\\", "#", "# x", "-n", "--", "é🙂", "\x01\x02\x7f", "a[$(echo injected >&2)]", ";", "&", "|", "<", ">", "(", ")", "{a,b}", "!", "'", `"`, "{{tool.name}}", "\t", "\r\n",
}

// Each line is a script; placeholders are {{a}} and {{b}} for short, and the words that
// the program must see are separated by |.
var accepted = []struct{ script, want string }{
	{"W {{a}} {{b}}", "{{a}}|{{b}}"},
	{`W "{{a}}" '{{b}}'`, "{{a}}|{{b}}"},
	{`W "x {{a}} y"'x {{b}} y'z{{a}}z`, "x {{a}} yx {{b}} yz{{a}}z"},
	{`W --x={{a}} --y="{{b}}"`, "--x={{a}}|--y={{b}}"},
	{`x={{a}}; y="-{{b}}-"; W "$x" "$y"`, "{{a}}|-{{b}}-"},
	{`f() { shift; W {{a}} "$@"; }; f 1 2 {{b}}`, "{{a}}|2|{{b}}"},
	{`set -- {{a}} {{b}}; W "$#" "$@"`, "2|{{a}}|{{b}}"},
	{`W "$#"`, "0"},
	{"# {{a}} don't {{b}}\nW x # '\n# \"\nW {{a}}", "x|{{a}}"},
	{"W x \\\n# don't\nW {{a}}", "x|{{a}}"},
	{"W \\\n {{a}} \\\n\"{{b}}\"", "{{a}}|{{b}}"},
	{`x=x; W "${x}{{a}}" $x{{b}} ${x}`, "x{{a}}|x{{b}}|x"},
	{`(cd / && W {{a}}) && { W {{b}}; }`, "{{a}}|{{b}}"},
	{`if [ x = {{a}} ]; then :; else W no {{b}}; fi`, "no|{{b}}"},
	{`for i in {{a}} "{{b}}"; do W "$i"; done`, "{{a}}|{{b}}"},
	{`case {{a}} in x) W never;; *) W {{b}};; esac`, "{{b}}"},
	{`W {{a}} 2>&1 {{b}}`, "{{a}}|{{b}}"},
	{`echo x >/dev/null {{a}}; W {{b}}`, "{{b}}"},
	{`W $((1+2)) {{a}} "$((2*(3)))" {{b}}`, "3|{{a}}|6|{{b}}"},
	{`W "$(printf %s- {{a}})"`, "{{a}}-"},
	{`W "a $(printf %s- "b {{a}} c") d {{b}}"`, "a b {{a}} c- d {{b}}"},
	{`W "a $(printf %s- 'b {{a}} c') d" '{{b}}'`, "a b {{a}} c- d|{{b}}"},
	{`W \" {{a}} \' "\"" {{b}}`, "\"|{{a}}|'|\"|{{b}}"},
	{`W '\' {{a}} "'" {{b}}`, `\|{{a}}|'|{{b}}`},
	{`x="$$"; W $? {{a}} a#b`, "0|{{a}}|a#b"},
	{`exec printf '%s\0' {{a}}`, "{{a}}"},
	{`/usr/bin/env printf '%s\0' {{a}} "{{b}}"`, "{{a}}|{{b}}"},
	{`export X={{a}}; W "$X"`, "{{a}}"},
	{`W {{a}} | while read -r x; do :; done; W {{b}}`, "{{b}}"},
	{"W {{a}} \n\n", "{{a}}"},
	{`W x && W {{a}} || W {{b}}`, "x|{{a}}"},
	{`[ {{a}} = {{b}} ] || [ ! -n {{a}} ] || [ -n "x{{a}}" -a {{a}} != {{b}} ]; W {{a}}`, "{{a}}"},
	{`printf '%s\0' {{a}}; printf -- "a%s{{b}}\0" | while read -r x; do :; done; printf "x%s\0" {{b}}`, "{{a}}|x{{b}}"},
	{`x=/usr; "$x/bin/env" printf '%s\0' {{a}}`, "{{a}}"},
	{`f() { local x={{a}}; readonly y={{b}}; W "$x" "$y"; }; f`, "{{a}}|{{b}}"},
	{`export -p >/dev/null; W {{a}}`, "{{a}}"},
	{`echo x 2>/dev/null >&2 {{a}}; W {{b}}`, "{{b}}"},
	{"cat >/dev/null <<E; W {{a}}\nit's \"so\nE\nW {{b}}", "{{a}}|{{b}}"},
	{"W \"`echo 'x y'`\" {{a}}", "x y|{{a}}"},
	{`: "$${y}"; W {{a}}`, "{{a}}"},
	{`case {{a}} in {{a}}) W {{b}};; esac`, "{{b}}"},
	{"W {{a}} &&\\\n  W\\\n {{b}}", "{{a}}|{{b}}"},
}

func long(s string) string {
	return strings.NewReplacer("{{a}}", "{{tool.arguments.a}}", "{{b}}", "{{ tool.arguments.b }}").Replace(s)
}

// substitute fills in {{a}} and {{b}} in one pass: a value may look like the other.
func substitute(s, a, b string) []string {
	if s == "" {
		return nil
	}
	var list []string
	for _, word := range strings.Split(s, "|") {
		list = append(list, strings.NewReplacer("{{a}}", a, "{{b}}", b).Replace(word))
	}
	return list
}

// readAsOperators: a command of the script takes its words, which it gets intact, for more than texts. printf reads its
// format, and test looks for parentheses and operators among more than four words.
func readAsOperators(script, a, b string) bool {
	return strings.Contains(script, "%s{{") && strings.ContainsAny(b, "%\\") ||
		strings.Contains(script, " -a ") && strings.ContainsAny(a+b, "()!-=<>")
}

func TestShellWords(t *testing.T) {
	for _, shell := range shells(t) {
		for _, c := range accepted {
			for i, a := range nasty {
				if i%8 != len(c.script)%8 && !testing.Verbose() {
					continue // all of them with -v
				}
				b := nasty[(i*7+5)%len(nasty)]
				if readAsOperators(c.script, a, b) {
					continue
				}
				got := words(t, shell, long(c.script), nil, map[string]string{"a": a, "b": b})
				if diff := cmp.Diff(substitute(c.want, a, b), got); diff != "" {
					t.Errorf("%s: %s with %q and %q: %s", shell, c.script, a, b, diff)
				}
			}
		}
	}
}

// Whatever a value is, each shell sees exactly its bytes, in exactly one word, at every place that takes values.
func TestShellSeesTheBytes(t *testing.T) {
	all := shells(t)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(accepted).Draw(t, "script")
		value := rapid.OneOf(
			rapid.SampledFrom(nasty),
			rapid.StringMatching(`[^\x00]{0,20}`),
			rapid.StringMatching("[-$(){}\\[\\]`'\"\\\\|&;<>*?~#!=\n\t ax0]{0,20}"),
		)
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		if readAsOperators(c.script, a, b) {
			return
		}
		for _, shell := range all {
			got := words(t, shell, long(c.script), nil, map[string]string{"a": a, "b": b})
			if diff := cmp.Diff(substitute(c.want, a, b), got); diff != "" {
				t.Fatalf("%s: %s: %s", shell, c.script, diff)
			}
		}
	})
}

func TestShellArguments(t *testing.T) {
	for _, shell := range shells(t) {
		for _, script := range []string{"W x", "W x\n", "true; W x ", "false || W 'x'"} {
			got := words(t, shell, script, []string{"{{tool.arguments.a}}", "lit $(eral)", "-{{tool.arguments.a}}-", ""}, map[string]string{"a": "'a b"})
			if diff := cmp.Diff([]string{"x", "'a b", "lit $(eral)", "-'a b-", ""}, got); diff != "" {
				t.Errorf("%s: %q: %s", shell, script, diff)
			}
		}
	}
	for script, want := range map[string]string{
		"echo # x": "comment", "echo 'x": "without closing quote", `echo "x`: "without closing quote", "(echo": "without matching `(`", `echo \`: "backslash",
		"cat <<E\nE\n": "unclosed here-document", "echo $'x'": "$'", "echo;": "name of a command", "echo |": "name of a command", "echo x >": "redirection", "eval": `"eval"`,
		"if x; then y; fi": "statements must be separated", "echo x; y=$(z": "without matching `$(`", "x=": "name of a command",
	} {
		if _, err := Compile(config.Command{Program: script, Args: []string{"x"}, Shell: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q with an argument: got %v, want %q", script, err, want)
		}
		if _, err := Compile(config.Command{Program: script, Shell: true}); err != nil {
			t.Errorf("%q alone: %v", script, err)
		}
	}
}

// A placeholder that the shell would split, expand or run is refused.
func TestShellRefuses(t *testing.T) {
	for script, want := range map[string]string{
		"{{a}}": "name of a command", "'{{a}}'": "name of a command", `"./{{a}}" x`: "name of a command", "x; {{a}}": "name of a command", "x && ./{{a}}": "name of a command",
		"x | {{a}}": "name of a command", "if {{a}}; then x; fi": "name of a command", "! {{a}}": "name of a command", "x=1 {{a}}": "name of a command", "exec {{a}}": "name of a command",
		"command -p {{a}}": "name of a command", "time -p {{a}}": "name of a command", "2>&1 {{a}}": "name of a command", ">x {{a}}": "name of a command", ">|x {{a}}": "name of a command",
		"f() { {{a}}; }": "name of a command", "x $({{a}})": "name of a command", "(x) {{a}}": "statements must be separated", "x & {{a}}": "name of a command", "x\n{{a}}": "name of a command",
		"\\\n {{a}}": "name of a command", "x; \\\n {{a}}": "name of a command", "case x in y) {{a}};; esac": "name of a command", "case x in (y) {{a}};; esac": "name of a command", "{ {{a}}; }": "name of a command",
		"while :; do {{a}}; done": "name of a command", "1={{a}}": "name of a command",
		"eval {{a}}": `"eval"`, "command eval 'x {{a}}'": `"eval"`, "x; . {{a}}": `"."`, "trap {{a}} EXIT": `"trap"`, "let x={{a}}": `"let"`, "export {{a}}": `"export"`, "unset {{a}}": `"unset"`, "exec -a x {{a}}": `"exec"`, "ev\\\nal {{a}}": `"eval"`,
		"cat <<E\n{{a}}\nE": "here document", "cat <\\\n<E\n{{a}}\nE": "cannot read", "x `y {{a}}`": "backquote", "x \"`y {{a}}`\"": "backquote", "x \"`y \\`z\\``\" {{a}}": "do not all read alike", "cat <<E\n\\\nE\nE\ny {{a}}": "do not all read alike", "cat <<E\n$x\nE\ny {{a}}": "do not all read alike", "x # \\\nexport {{a}}": "do not all read alike", "x $'y' {{a}}": "$'",
		"x $(( {{a}} ))": "arithmetic", "x $((y + (1 - {{a}})))": "arithmetic", "(( {{a}} ))": "name of a command", "(( y = {{a}} ))": "takes no value", "x $[ {{a}} ]": "arithmetic", "x $\\\n(( {{a}} ))": "cannot read", "x $(\\\n({{a}}))": "name of a command", "x $(\\\n(y {{a}}))": "do not all read alike", "x\r\nx {{a}}": "do not all read alike", "x \\\r\n{{a}}": "do not all read alike",
		"x ${y:-{{a}}}": "${", "x ${y:-'a'} {{a}}": "${", "x \\{{a}}": "backslash", "x \"\\{{a}}\"": "backslash", "x ${{a}}": "$", "x \"${{a}}\"": "$", "[[ {{a}} -eq 1 ]]": "[[",
		"echo x >& {{a}}": ">&", "echo x >&{{a}}": ">&", "echo x <& '{{a}}'": ">&", "echo x &> {{a}}": "&>", "echo x &>> {{a}}": "&>>", "echo x 2>&\\\n{{a}}": ">&",
		"test -v {{a}}": `"test -v"`, "[ -n x -a '-v' {{a}} ]": `"[ -v"`, "[ ! -R {{a}} ]": `"[ -R"`, "[ {{b}} {{a}} ]": "could be -v", "test $x {{a}}": "could be -v", "[ \"$x\" \"{{a}}\" ]": "could be -v", "test x$y {{a}}": "could be -v",
		"printf -v {{a}} x": `"printf" without`, "printf {{a}}": `"printf" without`, "printf \"{{a}}\"": `"printf" without`, "printf -- {{a}}": `"printf" without`, "printf \"-v{{a}}\" x": `"printf" without`, "printf $x {{a}}": `"printf" without`,
		"compgen -W {{a}}": `"compgen"`, "complete -C {{a}}": `"complete"`, "bind -x {{a}}": `"bind"`, "wait -p {{a}}": `"wait"`, "enable -f {{a}} x": `"enable"`, "jobs -x {{a}}": `"jobs"`, "hash -p {{a}} ls": `"hash"`, "set {{a}}": `"set"`, "set -o {{a}}": `"set"`,
		"declare -i x={{a}}": "do not all read alike", "local -n x={{a}}": "do not all read alike", "typeset -a x={{a}}": "do not all read alike", "declare -i x\nx={{a}}": "do not all read alike", "declare $o x={{a}}": "do not all read alike", "export x[1]={{a}}": `"export"`, "x[{{a}}]=1": "name of a command", "x[1]={{a}}": "name of a command", "x+={{a}}": "name of a command",
		"PATH={{a}} x": "PATH", "export OPTIND={{a}}": "OPTIND", "PS4=\"{{a}}\"; set -x": "PS4", "RANDOM={{a}}": "RANDOM",
		"$x {{a}}": "an expansion names", "\"$x\" {{a}}": "an expansion names", "${x} {{a}}": "an expansion names", "$(x) {{a}}": "an expansion names", "$x/y {{a}}": "an expansion names", "ev$x {{a}}": "an expansion names", "x=1 $y {{a}}": "an expansion names", "command \"$x\" {{a}}": "an expansion names",
		"'eval' {{a}}": `"eval"`, "\"ev\"al {{a}}": `"eval"`, "\\eval {{a}}": `"eval"`, "x[0]=1 eval {{a}}": `=1"`, "x+=1 eval {{a}}": `=1"`, "{x}>y eval {{a}}": "{varname}", "{eval,x} {{a}}": `{eval,x}`, "ev?l {{a}}": `ev?l`, "coproc x { eval {{a}}; }": "close a block", "coproc x {{a}}": "coproc x",
		"for x do eval {{a}}; done": `"eval"`, "for x in do eval {{a}}; done": "followed by `do`", "select x do {{a}}; done": "end a loop", "alias x=eval\nx {{a}}": "alias", "\"x\"={{a}}": "name of a command", "\\x={{a}}": "name of a command", "''x={{a}}": "name of a command", "<(x) eval {{a}}": "followed by a word",
		"function f { {{a}}; }": "function", "x $$(y) {{a}}": "cannot read", "x $(case y in z) echo;; esac) \"{{a}}\"": "case",
	} {
		script = long(script)
		got, err := Compile(config.Command{Program: script, Shell: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "tool.arguments.a") {
			t.Errorf("%q: got %+v %v, want %q", script, got, err, want)
		}
	}
}

// A repository writes the script: a long or deep one takes no time worth speaking of.
func TestHugeScripts(t *testing.T) {
	for name, script := range map[string]string{
		"parentheses": strings.Repeat("(", maxScript-100) + "W {{tool.name}}",
		"nested":      strings.Repeat("(", 8000) + "W {{tool.name}}" + strings.Repeat(")", 8000),
		"expansions":  "W {{tool.name}} " + strings.Repeat("${x:-", 2500) + strings.Repeat("}", 2500),
		"one word":    "W {{tool.name}} x=" + strings.Repeat(`"`, 16001),
		"values":      "W " + strings.Repeat("{{tool.name}} ", 2000),
		"too long":    "W {{tool.name}} " + strings.Repeat("x", maxScript),
	} {
		start := time.Now()
		_, err := Compile(config.Command{Program: script, Shell: true})
		if took := time.Since(start); err == nil || took > 10*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
}

// Scripts put together at random: what compiles hands each value over as one word.
func TestShellProperty(t *testing.T) {
	all := shells(t)
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"{{a}}", "{{a}}", "{{a}}", " ", "'", `"`, "\\", "$", "x", "#", "\n", "$(echo ", ")", "(", "${x}", "$((1))", "\\\n", "`", "=", "$#", "$?", "'q'", `"d"`, "{", "}", "\r", "<<E\n", "\nE\n", "${x:-", ";", "&&", "|",
		}), 1, 12).Draw(t, "pieces")
		script := "W [ " + strings.Join(pieces, "") + " ]"
		if _, err := Compile(config.Command{Program: long(script), Shell: true}); err != nil || strings.Contains(strings.ReplaceAll(script, "\\\n", ""), "$$") {
			return // the process number is another each time
		}
		value := rapid.OneOf(rapid.SampledFrom(nasty), rapid.StringMatching(`[^\x00]{0,6}`)).Draw(t, "value")
		for _, shell := range all {
			// The same script with a harmless value of the same place is what to compare with.
			plain, ok := try(t, shell, script, "MARK")
			if !ok {
				return // no script at all
			}
			compiled++
			got, ok := try(t, shell, script, value)
			// What a command substitution prints is split and trimmed by the script's own wish.
			if strings.Contains(script, "$(echo") {
				if !ok {
					t.Fatalf("%s: %q breaks with %q", shell, script, value)
				}
				continue
			}
			for i := range plain {
				plain[i] = strings.ReplaceAll(plain[i], "MARK", value)
			}
			if diff := cmp.Diff(plain, got); !ok || diff != "" {
				t.Fatalf("%s: %q with %q: %v %s", shell, script, value, ok, diff)
			}
		}
	})
	if compiled < 20 {
		t.Errorf("only %d scripts were run", compiled)
	}
}

// Whatever a value is, it is never run, and nothing is run that it names: not by builtins either that
// take their words for more than texts.
func TestShellRunsNoValue(t *testing.T) {
	all := shells(t)
	owned := filepath.Join(t.TempDir(), "owned")
	dir := t.TempDir()
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"{{a}}", "{{a}}", "{{b}}", "'{{a}}'", "\"{{b}}\"", " ", " ", " ", "\n", ";", "x", "x=", "x+=", "x[0]=", "x[", "]", "-v", "-a", "-n", "=", "!", "'%s'", "--", "$x", "\"$x\"", "/", "(", ")", "{ ", " }",
			"test", "[", " ]", "printf", "echo", "eval", "export", "local", "declare", "-i", "readonly", "unset", "read", "set", "shift", "for x in", "for x", "do", "done", "case x in", "esac", "if", "then", "fi",
			">&", "&>", ">", "<", "2>", "&", "'", "\"", "\\", "let", "wait", "-p", "printf -v", "test -v", "compgen -W", "command", "builtin", "coproc", "OPTIND=", "PS4=", "hash", "type", "cd", "ulimit", "umask", "exit", "return", "f() {", "exec",
		}), 2, 9).Draw(t, "pieces")
		script := strings.Join(pieces, rapid.SampledFrom([]string{"", " ", " "}).Draw(t, "between"))
		tmpl, err := Compile(config.Command{Program: long(script), Shell: true})
		if err != nil {
			return
		}
		value := rapid.SampledFrom([]string{"-v", "-va[$(: >$OWNED)]", "a[$(: >$OWNED)]", "a[$(: >$OWNED)]=1", "$(: >$OWNED)", "(a[$(: >$OWNED)])", "`: >$OWNED`", "!", "own", "eval", "-p", "--"})
		tool, err := json.Marshal(map[string]any{"arguments": map[string]string{"a": value.Draw(t, "a"), "b": value.Draw(t, "b")}})
		if err != nil {
			t.Fatal(err)
		}
		argv, err := tmpl.Render(request(`{}`, tool))
		if err != nil {
			t.Fatal(err)
		}
		for _, shell := range all {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			cmd := exec.CommandContext(ctx, shell, argv[1:]...)
			cmd.Dir, cmd.Env = dir, []string{"OWNED=" + owned, "PATH=/usr/bin:/bin"}
			_ = cmd.Run() // most of them are no scripts
			cancel()
			ran++
			if _, err := os.Lstat(owned); err == nil {
				_ = os.Remove(owned)
				t.Fatalf("%s: %q ran what is in %s", shell, script, tool)
			}
		}
	})
	if ran < 20 {
		t.Errorf("only %d scripts were run", ran)
	}
}

// try is words for scripts that may be none.
func try(t *rapid.T, shell, script, value string) ([]string, bool) {
	f := &failure{}
	var got []string
	func() {
		defer func() {
			if r := recover(); r != nil && r != f {
				panic(r)
			}
		}()
		got = words(f, shell, long(script), nil, map[string]string{"a": value})
	}()
	return got, !f.failed
}

type failure struct{ failed bool }

func (f *failure) Helper() {}

func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}
