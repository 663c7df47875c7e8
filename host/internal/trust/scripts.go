package trust

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
)

// A script is a file of the workspace that a command may run. Only a program itself knows what it does with a file. So
// each file that a command names anywhere counts, unless the program is known to take all its files as data.

// Programs that run none of their words and none of the files that they are given. Readers only write to standard
// output.
var (
	readers = strings.Fields("cat wc grep egrep fgrep head tail ls diff cmp comm cut tr join paste nl od tac rev fold " +
		"stat du cksum md5sum sha1sum sha256sum sha512sum basename dirname realpath readlink echo printf test [ true " +
		"false : pwd date sleep seq")
	writers = strings.Fields("cp mv rm rmdir mkdir ln touch chmod truncate tee sort uniq")
	all     = slices.Concat(readers, writers)
)

// renaming are commands of shells after which the name of a program may mean something else, or its output go
// elsewhere.
var renaming = strings.Fields("alias eval . source exec hash enable builtin command")

// isData reports whether a command is one of programs and runs nothing that its words name.
func isData(argv, programs []string) bool {
	name := argv[0]
	if dir := path.Dir(name); dir == "/bin" || dir == "/usr/bin" {
		name = path.Base(name)
	}
	// sort --compress-program runs one, and a pattern may stand for that option.
	runs := func(word string) bool { return strings.HasPrefix(word, "--co") || strings.ContainsAny(word, "*?[{") }
	return slices.Contains(programs, name) && (name != "sort" || !slices.ContainsFunc(argv, runs))
}

// scripts are the texts of a command that may name scripts.
func scripts(c config.Command) []string {
	argv := append([]string{c.Program}, c.Args...)
	switch {
	case c.Shell:
		return append([]string{withoutData(c.Program)}, c.Args...)
	case isData(argv, all):
		return nil
	}
	return argv
}

var placeholders = settings.Pattern(`\{\{[^{}]*\}\}`)

// withoutData blanks out what is only data in a shell script: the files that it writes, and the words of programs that
// take them as data, if what they print goes to no other program and no file. If all programs of the script are such,
// that does not matter. If the script cannot be understood, all of it stays.
func withoutData(script string) string {
	// Placeholders are no syntax of the shell.
	plain := placeholders().ReplaceAllStringFunc(script, func(p string) string { return strings.Repeat("_", len(p)) })
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(plain), "")
	if err != nil || strings.ContainsAny(script, "\r\x00") || strings.Contains(script, "\\\n") {
		return script // shells do not all join lines alike
	}
	if strings.Contains(script, "PATH") || strings.Contains(script, "-n") && strings.Contains(script, "declare") {
		return script // a name may mean another program
	}
	s := shellScript{text: []byte(script), programs: all, dataOnly: true}
	renamed := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				name, ok := literally(n.Args[0])
				renamed = renamed || !ok || slices.Contains(renaming, name)
				s.dataOnly = s.dataOnly && s.isData(n)
			}
		case *syntax.Assign:
			renamed = renamed || n.Name == nil
		case *syntax.FuncDecl, *syntax.CoprocClause:
			renamed = true
		}
		return true
	})
	if renamed {
		return script
	}
	if !s.dataOnly {
		s.programs = readers
	}
	s.list(file.Stmts, true)
	return string(s.text)
}

type shellScript struct {
	text []byte
	// programs are those that take their words as data here, and dataOnly says that there are no others.
	programs []string
	dataOnly bool
}

func (s *shellScript) blank(n syntax.Node) {
	from, end := n.Pos().Offset(), n.End().Offset()
	copy(s.text[from:end], bytes.Repeat([]byte{'\n'}, int(end-from)))
}

func (s *shellScript) isData(c *syntax.CallExpr) bool {
	argv := make([]string, len(c.Args))
	for i, arg := range c.Args {
		ok := false
		if argv[i], ok = literally(arg); !ok {
			return false
		}
	}
	return len(argv) > 0 && len(c.Assigns) == 0 && isData(argv, s.programs)
}

// reads reports whether all of a statement is programs that only print what they read.
func (s *shellScript) reads(stmt *syntax.Stmt) bool {
	switch c := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		starts := func(r *syntax.Redirect) bool { _, ok := literally(r.Word); return !ok }
		return s.isData(c) && !slices.ContainsFunc(stmt.Redirs, starts) && (s.dataOnly || !slices.ContainsFunc(stmt.Redirs, keeps))
	case *syntax.BinaryCmd:
		return len(stmt.Redirs) == 0 && s.reads(c.X) && s.reads(c.Y)
	}
	return false
}

// keeps reports whether a redirection could keep what is printed for another program.
func keeps(r *syntax.Redirect) bool {
	target, ok := literally(r.Word)
	nowhere := target == "/dev/null" || r.Op == syntax.DplOut && (target == "1" || target == "2")
	return r.Op != syntax.RdrIn && (!ok || !nowhere)
}

func (s *shellScript) list(stmts []*syntax.Stmt, prints bool) {
	for _, stmt := range stmts {
		s.statement(stmt, prints)
	}
}

// statement blanks out the data of a statement. prints says that its output goes to no other program and no file.
func (s *shellScript) statement(stmt *syntax.Stmt, prints bool) {
	if c, ok := stmt.Cmd.(*syntax.CallExpr); ok && prints && s.reads(stmt) {
		s.blank(c)
		for _, r := range stmt.Redirs {
			if _, ok := literally(r.Word); ok && r.Hdoc == nil {
				s.blank(r.Word)
			}
		}
	}
	for _, r := range stmt.Redirs {
		switch _, ok := literally(r.Word); r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			if ok {
				s.blank(r.Word)
			}
		}
		prints = prints && (s.dataOnly || !keeps(r))
	}
	switch c := stmt.Cmd.(type) {
	case *syntax.CallExpr: // tee writes its files, as a redirection does
		if name, ok := literally(first(c)); ok && name == "tee" && len(c.Assigns) == 0 {
			for _, arg := range c.Args[1:] {
				if _, ok := literally(arg); ok {
					s.blank(arg)
				}
			}
		}
	case *syntax.BinaryCmd:
		pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
		s.statement(c.X, prints && (!pipe || s.reads(c.Y)))
		s.statement(c.Y, prints)
	case *syntax.Block:
		s.list(c.Stmts, prints)
	case *syntax.Subshell:
		s.list(c.Stmts, prints)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.list(c.Cond, prints)
			s.list(c.Then, prints)
		}
	case *syntax.WhileClause:
		s.list(c.Cond, prints)
		s.list(c.Do, prints)
	case *syntax.ForClause:
		s.list(c.Do, prints)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			s.list(item.Stmts, prints)
		}
	}
}

// first is the word that names the program; an empty one if there is none.
func first(c *syntax.CallExpr) *syntax.Word {
	if len(c.Args) == 0 {
		return &syntax.Word{}
	}
	return c.Args[0]
}

// literally is a word that every shell takes as it is written, less the quotes.
func literally(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += p.Value
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text += p.Value
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit || p.Dollar {
					return "", false
				}
				text += lit.Value
			}
		default:
			return "", false
		}
	}
	// Bash runs what stands in the brackets of `test -v "a[$(…)]"`.
	return text, !strings.ContainsAny(text, "\\`") && !strings.Contains(text, "$(")
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
