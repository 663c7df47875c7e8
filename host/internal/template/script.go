package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of a script that takes values: the parser recurses into each bracket, and a repository writes the script.
const (
	maxScript = 16 << 10
	maxDepth  = 200 // of the syntax tree
)

// misread finds what the parser reads otherwise than shells do. They join lines before they look for operators, do not
// join the line after a comment, look for the end of a here document after joining, and take a carriage return for a part of the word.
var misread = compiled("\\$\\\\\n|[(){<>&|;`](\\\\\n)+[(){<>&|;]|#[^\n]*\\\\\n|<<(?s:.*)\\\\\n|\r|\x00")

// place is where a reference stands in a script.
type place struct {
	// path leads to it from the root of the syntax tree; it is empty where the shell sees no reference.
	path []syntax.Node
	// before and after are the quotes that it needs around it to stand in double quotes.
	before, after string
	comment       bool
}

// parseScript parses a script for a POSIX shell or for bash, and returns the places of its slots. unlike is the text of
// something in it that is not read alike everywhere.
func parseScript(source string, bash bool, slots []slot) (places []place, unlike string, err error) {
	shell, lang := "a POSIX shell", syntax.LangPOSIX
	if bash {
		shell, lang = "bash", syntax.LangBash
	}
	if len(source) > maxScript {
		return nil, "", fmt.Errorf("is in a script of more than %d KiB", maxScript>>10)
	}
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(source), "")
	if err != nil {
		return nil, "", fmt.Errorf("is in a script that %s cannot read: %s", shell, syntaxError(err))
	}
	unlike = misread().FindString(source)
	places = make([]place, len(slots))
	var path []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		text := source
		if from, end := n.Pos().Offset(), n.End().Offset(); from < end && end <= uint(len(source)) { // an empty node may have no end
			text = source[from:end]
		}
		if unlike == "" && (len(path) > maxDepth || !portable(path, text)) {
			unlike = text
		}
		if len(path) <= maxDepth {
			locate(path, slots, places)
		}
		return true
	})
	return places, unlike, nil
}

// syntaxError leaves the column out: it counts references, and not the placeholders that people wrote.
func syntaxError(err error) string {
	var wrong syntax.ParseError
	var unknown syntax.LangError
	switch {
	case errors.As(err, &wrong):
		return fmt.Sprintf("line %d: %s", wrong.Pos.Line(), wrong.Text)
	case errors.As(err, &unknown):
		return fmt.Sprintf("line %d: it does not know %s", unknown.Pos.Line(), unknown.Feature)
	}
	return err.Error()
}

// locate notes the slots that the last node of a path holds.
func locate(path []syntax.Node, slots []slot, places []place) {
	node := path[len(path)-1]
	from, end := int(node.Pos().Offset()), int(node.End().Offset())
	first, _ := slices.BinarySearchFunc(slots, from, func(s slot, offset int) int { return s.offset - offset })
	for i := first; i < len(slots) && slots[i].offset < end; i++ {
		p := place{path: slices.Clone(path)}
		switch n := node.(type) {
		case *syntax.Comment:
			p.comment = true
		case *syntax.SglQuoted:
			p.before, p.after = `'"`, `"'`
		case *syntax.ParamExp:
			if from != slots[i].offset || n.Short || n.Param.Value != variable(i) {
				return
			}
			if _, inQuotes := path[len(path)-2].(*syntax.DblQuoted); !inQuotes {
				p.before, p.after = `"`, `"`
			}
		default:
			return
		}
		places[i] = p
	}
}

// portable reports whether all shells read the last node of a path alike. text is how it is written.
func portable(path []syntax.Node, text string) bool {
	above := path[:len(path)-1]
	switch n := path[len(path)-1].(type) {
	case *syntax.File, *syntax.Comment, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause,
		*syntax.WhileClause, *syntax.ForClause, *syntax.WordIter, *syntax.CaseItem, *syntax.Assign, *syntax.Word, *syntax.Lit,
		*syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
		return true
	case *syntax.TimeClause, *syntax.DeclClause, *syntax.LetClause:
		return true // as bash reads it: for a POSIX shell these are commands, and refuseArgument knows their names
	case *syntax.CallExpr:
		return !changesReading(spell(n.Args))
	case *syntax.Redirect:
		return n.Hdoc == nil || len(n.Hdoc.Parts) == 0 || isPlain(n.Hdoc)
	case *syntax.CmdSubst:
		return !isWithin[*syntax.ArithmExp](above) && !(n.Backquotes && strings.Contains(text, `\`))
	case *syntax.SglQuoted:
		return !isWithin[*syntax.ArithmExp](above) && !n.Dollar
	case *syntax.DblQuoted:
		return !isWithin[*syntax.ArithmExp](above) && !n.Dollar
	case *syntax.ParamExp: // what quotes in ${…} mean differs
		return n.Index == nil && (n.Exp == nil || n.Exp.Word == nil || isPlain(n.Exp.Word))
	case *syntax.ArithmExp:
		return !n.Bracket
	case *syntax.CaseClause: // old shells end the parentheses at the first pattern
		return !isWithin[*syntax.CmdSubst](above)
	case *syntax.FuncDecl:
		return !n.RsrvWord
	}
	return false
}

// isPlain reports whether a word has neither quotes nor backslashes nor expansions.
func isPlain(w *syntax.Word) bool { return w.Lit() != "" && !strings.Contains(w.Lit(), `\`) }

func isWithin[T syntax.Node](path []syntax.Node) bool {
	return slices.ContainsFunc(path, func(n syntax.Node) bool { _, ok := n.(T); return ok })
}

// refuseAround says why nothing may stand inside of something that is around a place, and what to write instead.
func (p place) refuseAround() (why, instead string) {
	for i, n := range p.path {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			return "stands in arithmetic, which would run what is in the value", "assign it to a variable after checking that it is a number"
		case *syntax.CmdSubst:
			if n.Backquotes {
				return "stands in backquotes", "write $(…) for them"
			}
		case *syntax.ParamExp:
			if i < len(p.path)-1 {
				return "stands inside of ${…}", withoutShell
			}
		case *syntax.Redirect:
			switch n.Op {
			case syntax.Hdoc, syntax.DashHdoc:
				return "stands in a here document", withoutShell
			case syntax.DplIn, syntax.DplOut:
				return "stands after >& or <&, where bash reads a value twice", "write: > {{…}} 2>&1"
			}
		}
	}
	return "", ""
}

// refuse says why no value may stand at a place, and what to write instead. What is not known to be safe is refused.
// before is the text before the reference. An argument that was appended must be a word of a command.
func (p place) refuse(before string, appended bool) (why, instead string) {
	if why, instead = p.refuseAround(); why != "" {
		return why, instead
	}
	word, holder := p.word()
	_, isArgument := holder.(*syntax.CallExpr)
	switch {
	case appended && (!isArgument || len(word.Parts) != 1):
		return "would be no word of a command: the script ends in a comment, a redirection or a backslash", "put the arguments into the script as {{…}}"
	case p.comment:
		return "", ""
	case len(p.path) == 0 && strings.HasSuffix(before, `\`):
		return "stands right after a backslash", "leave the backslash out: the value needs none"
	case len(p.path) == 0 && strings.HasSuffix(before, "$"):
		return "stands right after a $", "put a space or a quote between them"
	}
	switch n := holder.(type) {
	case *syntax.CallExpr:
		return refuseArgument(spell(n.Args), slices.Index(n.Args, word))
	case *syntax.Assign:
		if n.Name != nil {
			return refuseAssigned(n.Name.Value)
		}
	case *syntax.WordIter:
		return refuseAssigned(n.Name.Value)
	case *syntax.CaseClause, *syntax.CaseItem, *syntax.Redirect:
		return "", ""
	}
	return "stands where the shell takes no value", withoutShell
}

// word is the word that has the reference in double quotes, and what has this word; nil if there is none.
func (p place) word() (*syntax.Word, syntax.Node) {
	if n := len(p.path); n > 3 && p.before == "" {
		if word, ok := p.path[n-3].(*syntax.Word); ok {
			return word, p.path[n-4]
		}
	}
	return nil, nil
}
