package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool/nearest"
)

// checkCommand warns of a command that compiles but cannot do what it looks like: it names an argument that the tool
// does not declare, a program that does not exist, or words that only a shell would understand. It skips built-in tools.
func checkCommand(h *call.Host, t *config.Tool, compiled *toolargs.Template) []policy.Warning {
	if t.Command.Origin.Layer == settings.LayerDefault {
		return nil
	}
	var list []policy.Warning
	remark := func(message, help string) {
		list = append(list, policy.Warning{Origin: t.Command.Origin.String(), Message: "the command of " + t.Name + " " + message, Help: help})
	}
	var known []string
	for _, p := range t.Parameters {
		known = append(known, p.Name)
	}
	for _, name := range compiled.Arguments() {
		if slices.Contains(known, name) {
			continue
		}
		help := fmt.Sprintf("declare it: [conversation.tools.%s.parameters.%s]", t.Name, name)
		if near := nearest.Word(name, known); near != "" {
			help = fmt.Sprintf("did you mean {{tool.arguments.%s}}? otherwise %s", near, help)
		}
		remark(fmt.Sprintf("has {{tool.arguments.%s}}, which is no parameter of it, so no call can give it a value", name), help)
	}
	if t.Command.Shell {
		return list
	}
	if !strings.Contains(t.Command.Program, "{{") {
		if _, err := h.Program(t, t.Command.Program); err != nil {
			message, help, _ := strings.Cut(err.Error(), "\n")
			help, _, _ = strings.Cut(help, ". PATH is ")
			if errors.Is(err, fs.ErrPermission) {
				message, help = "it may not be executed", "make it executable with chmod +x, or name its interpreter"
			}
			remark(fmt.Sprintf("cannot be started: %s: %s", show.Visible(t.Command.Program), message), help)
		}
	}
	for _, word := range append([]string{t.Command.Program}, t.Command.Args...) {
		if shellSyntax(word) {
			remark(fmt.Sprintf("hands %q to the program as it is: no shell reads it", word), `if a shell is meant, write { program = "…", shell = true }`)
			break
		}
	}
	return list
}

// shellSyntax reports whether a word means something to a shell only: an operator, a redirection, a substitution. A word
// with blanks is probably a script for an interpreter.
func shellSyntax(word string) bool {
	switch word {
	case "|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>":
		return true
	}
	if strings.ContainsAny(word, " \t\n") {
		return false
	}
	return strings.HasPrefix(word, "$") && len(word) > 1 || strings.Contains(word, "$(") || strings.HasPrefix(word, "~/")
}
