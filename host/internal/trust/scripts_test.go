package trust

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/config"
)

// runsOf are the files that count as scripts of the command of the only tool. A command is words at blanks, with quotes as
// Go has them, or a shell script behind sh:.
func runsOf(t *testing.T, w *world, command string) string {
	t.Helper()
	program, isShell := strings.CutPrefix(command, "sh:")
	var words []string
	if !isShell {
		for rest := command; rest != ""; rest = strings.TrimPrefix(rest, " ") {
			word, _, _ := strings.Cut(rest, " ")
			if rest[0] == '`' {
				word, _ = strconv.QuotedPrefix(rest)
			}
			rest = rest[len(word):]
			words = append(words, fmt.Sprintf("%q", strings.Trim(word, "`")))
		}
		program, _ = strconv.Unquote(words[0])
		words = words[1:]
	}
	w.repo(fmt.Sprintf("conversation.tools.t = { source = \"local\", command = { program = %q, args = [%s], shell = %v } }",
		program, strings.Join(words, ", "), isShell))
	var runs []string
	for _, s := range w.widening() {
		if s.Runs != "" {
			runs = append(runs, s.Runs)
		}
	}
	slices.Sort(runs)
	return strings.Join(runs, " ")
}

// Each file that a command names counts, however it names it, unless it is plainly data.
func TestScripts(t *testing.T) {
	w := newWorld(t, "file x.sh a", "file y.sh a", "file d/x.sh a", "file d/e/z.sh a", "symlink zz d/e", "file b.mk a", "file TODO.md a",
		"file test_m.py a", "file out.log a", "file odd,name[1].py a", "file end@ x", "symlink link x.sh", "file .hidden.sh a", "fifo pipe")
	for _, c := range []struct{ command, want string }{
		{"./x.sh TODO.md", "TODO.md x.sh"},
		{w.root + "/x.sh", "x.sh"},
		{"link", "x.sh"},
		{"sh +e x.sh", "x.sh"},
		{"sh - x.sh", "x.sh"},
		{"sh -c -e `sh x.sh`", "x.sh"},
		{"bash --rcfile x.sh --init-file=y.sh", "x.sh y.sh"},
		{"env -S `sh x.sh`", "x.sh"},
		{"env `-Ssh x.sh`", "x.sh"},
		{"env -u python sh x.sh", "x.sh"},
		{"env -C d sh x.sh", "d/x.sh x.sh"},
		{"env BASH_ENV=x.sh bash -c true", "x.sh"},
		{"flock ./lock sh x.sh", "x.sh"},
		{"flock lock -c `sh x.sh`", "x.sh"},
		{"xargs -a /dev/null sh x.sh", "x.sh"},
		{"time -o /dev/null sh x.sh", "x.sh"},
		{"script -qc `sh x.sh` /dev/null", "x.sh"},
		{"sed -nf x.sh TODO.md", "TODO.md x.sh"},
		{"make -sf b.mk", "b.mk"},
		{"make -sfb.mk", "b.mk"},
		{"make -s --makefil=b.mk", "b.mk"},
		{"make -C d/e -f ../x.sh", "d/x.sh"},
		{"make -Cd -f x.sh", "d/x.sh x.sh"},
		{"git -c `alias.z=!sh x.sh` z", "x.sh"},
		{"find . -name x.sh -exec sh {} ;", "x.sh"},
		{"find . -name ?.sh", "x.sh y.sh"},
		{"gcc @x.sh", "x.sh"},
		{"python3 odd,name[1].py", "odd,name[1].py"},
		{"python3 -c `import os; os.system('sh \"x.sh\" && python \"odd,name[1].py\"')`", "odd,name[1].py x.sh"},
		{".venv/bin/python -m pytest -q test_m.py::test_a", "test_m.py"},
		{"sh zz/../x.sh", "d/x.sh"},
		{"sh ../ws/x.sh", "x.sh"},
		{"sort --compress-prog=./x.sh TODO.md", "TODO.md x.sh"},
		{"d/cat TODO.md", "TODO.md"},
		{"unknown missing.sh pipe d", ""},
		{"sh {{tool.arguments.x}}", ""},
		// Data.
		{"wc -l TODO.md", ""},
		{"/usr/bin/cat x.sh", ""},
		{"grep -f x.sh TODO.md", ""},

		{`sh:sh "$PWD/x.sh"`, "x.sh"},
		{`sh:S=x.sh; sh "$S"`, "x.sh"},
		{`sh:D=d; sh $D/x.sh`, "d/x.sh x.sh"},
		{`sh:D=d/e; . "${D}/z.sh"`, "d/e/z.sh"},
		{`sh:N=x; sh $N.sh`, "x.sh y.sh"},
		{`sh:sh ${X:-x.sh}`, "x.sh"},
		{`sh:sh ${X-x.sh} ~+/y.sh`, "x.sh y.sh"},
		{`sh:sh x.*`, "x.sh"},
		{`sh:sh [!x].sh`, "y.sh"},
		{`sh:sh {x,y}.sh`, "x.sh y.sh"},
		{`sh:sh */x.sh`, "d/x.sh x.sh"},
		{`sh:cd d; sh *.sh`, "d/x.sh x.sh y.sh"},
		{`sh:for f in x.sh; do sh $f; done`, "x.sh"},
		{`sh:f() { sh "$1"; }; f x.sh`, "x.sh"},
		{`sh:sh -c "$(cat x.sh)"`, "x.sh"},
		{"sh:sh -c \"`cat x.sh`\"", "x.sh"},
		{`sh:while read -r l; do sh -c "$l"; done < x.sh`, "x.sh"},
		{`sh:trap "sh x.sh" EXIT`, "x.sh"},
		{`zsh -fc ". ./x.sh"`, "x.sh"},
		{`sh:timeout $T sh x.sh $D`, "x.sh"},
		{`sh:env A=$B sh "$@" x.sh`, "x.sh"},
		{`sh:BASH_ENV=x.sh bash -c true`, "x.sh"},
		{`sh:cat x.sh | sh`, "x.sh"},
		{`sh:cat x.sh | grep -v y | sh`, "x.sh"},
		{`sh:{ cat x.sh; } | sh`, "x.sh"},
		{`sh:sh <(cat x.sh)`, "x.sh"},
		{`sh:printf x.sh | xargs sh`, "x.sh"},
		{`sh:cat x.sh >y; sh y`, "x.sh"},
		{`sh:{ cat x.sh; } >y; sh y`, "x.sh"},
		{`sh:cp x.sh y; sh y`, "x.sh"},
		{`sh:sort -o y x.sh; sh y`, "x.sh"},
		{`sh:exec >y; cat x.sh; sh y`, "x.sh"},
		{`sh:cat x.sh | tee y; sh y`, "x.sh"},
		{`sh:command -v sh >/dev/null && exec sh ./x.sh`, "x.sh"},
		{`sh:{ sh; } < x.sh`, "x.sh"},
		{`sh:(sh -s) <x.sh`, "x.sh"},
		{`sh:alias cat=sh; cat x.sh`, "x.sh"},
		{`sh:cat() { sh "$@"; }; cat x.sh`, "x.sh"},
		{`sh:export PATH=d; cat x.sh`, "d/x.sh x.sh"},
		{`sh:LD_PRELOAD=./x.sh cat TODO.md`, "TODO.md x.sh"},
		{`sh:$C x.sh`, "x.sh"},
		{"sh:sh <<E\n. ./x.sh\nE", "x.sh"},
		{`sh:sh ./"x"'.sh'; sh y\.sh`, "x.sh y.sh"},
		{`sh:sh 'odd,name[1].py'`, "odd,name[1].py"},
		{`sh:'x.sh`, "x.sh"},
		{"sh:true # \\\nsh x.sh", "x.sh"},
		{`sh:test -v 'a[$(sh x.sh)]'`, "x.sh"},
		{`sh:wc -l "$(sh x.sh)"`, "x.sh"},
		{`sh:sh {{ "x.sh" }}`, "x.sh"},
		{`sh:wc <"$(sh x.sh)" -l`, "x.sh"},
		{`sh:cat < <(sh x.sh) -`, "x.sh"},
		{`sh:for PATH in d; do wc x.sh; done`, "d/x.sh x.sh"},
		{`sh:read PATH <TODO.md; cat x.sh`, "TODO.md x.sh"},
		{`sh:printf -v PATH %s d; cat x.sh`, "d/x.sh x.sh"},
		{`sh:sort -S1k {--compress-program=./x.sh,TODO.md}`, "TODO.md x.sh"},
		{`sh:sh end@`, "end@"},
		{`sh -c "sh end@"`, "end@"},
		{"bash --rcfile=end@", "end@"},
		{`sh:ls *`, ""},
		// Data.
		{`sh:echo x >>TODO.md; wc -l TODO.md`, ""},
		{`sh:printf '- %s\n' {{ tool.arguments.x }} >> TODO.md; wc -l <TODO.md`, ""},
		{`sh:unknown >> "TODO.md"; wc -l TODO.md`, ""},
		{`sh:unknown > out.log 2>&1 || { tail -n 50 out.log; exit 1; }`, ""},
		{`sh:unknown 2>&1 | tee -a out.log | grep -f TODO.md`, ""},
		{`sh:if [ -f TODO.md ]; then unknown; else cat out.log >&2; fi`, ""},
		{`sh:cat TODO.md out.log | sort >x.sh; cp x.sh y.sh`, ""},
		{`sh:unknown >x.sh; sh x.sh`, "x.sh"},
	} {
		if got := runsOf(t, w, c.command); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

// A repository writes its commands: one that names very much takes no time worth speaking of, and says so.
func TestManyNames(t *testing.T) {
	w := newWorld(t, "file x.sh a")
	for i := range 300 {
		w.write(fmt.Sprintf("d%d/x.sh", i), "a")
	}
	for _, command := range []string{
		"sh:" + strings.Repeat("echo a:b:c:d:e:f:g:h ${x}y*; ", 2000),
		"sh:" + strings.Repeat("cd d*/../d*/../d*/../x; ", 10),
		"sh:sh d*/x.sh",
	} {
		start := time.Now()
		runs := runsOf(t, w, command)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.30s: %v", command, took)
		}
		if strings.HasPrefix(command, "sh:cd") && !strings.Contains(runs, "more files than jphost looks for") {
			t.Errorf("%.30s: %.100s", command, runs)
		}
		if command == "sh:sh d*/x.sh" && strings.Count(runs, "x.sh") != 300 {
			t.Errorf("%s: %.100s", command, runs)
		}
	}
}

// A command of data only has no scripts, executable or not.
func TestDataIsNoScript(t *testing.T) {
	for _, name := range all {
		if list := scripts(config.Command{Program: name, Args: []string{"x.sh"}}); list != nil {
			t.Errorf("%s: %q", name, list)
		}
	}
}
