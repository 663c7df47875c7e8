package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// sensitive asks about the places of secrets that the call concerns (RFD 075, "Sensitive path protection"), each once per
// session: for the seven tools those that their arguments lead to, for any other program those that a rule names, since
// nobody knows what it will do. All others stay withheld. Without a terminal the call is refused. A user whose own
// configuration names a place and says `run = "unattended"` has allowed it for good, and is warned once per session.
func (k *call) sensitive(ctx context.Context) error {
	if k.places != nil { // of arguments that a person has edited
		k.places = nil
		if err := k.compile(ctx, k.Prompter); err != nil {
			return err
		}
	}
	list, err := k.secretPlaces()
	if err != nil {
		return err
	}
	if k.AllowSensitive {
		if len(list) > 0 {
			k.answered(OnSensitive, "", ByCall)
		}
		k.secrets = true
		return k.compile(ctx, k.Prompter)
	}
	for _, s := range list {
		if err := k.allowPlace(ctx, s); err != nil {
			return err
		}
		if !s.Named {
			if k.places == nil {
				k.places = map[string]jptool.Caps{}
			}
			k.places[s.Path] = s.Covered
		}
	}
	if k.places != nil {
		if err := k.compile(ctx, k.Prompter); err != nil {
			return err
		}
	}
	return k.beforehand(ctx)
}

// secretPlaces are the places of secrets that somebody is asked about.
func (k *call) secretPlaces() ([]policy.Touch, error) {
	if k.builtIn() {
		need := jptool.AllCaps
		if k.Tool.Needs != nil {
			need = *k.Tool.Needs
		}
		// Nobody is asked about what is not there. But if nobody can be asked, the refusal does not say what is there.
		return k.policy.Touches(k.pathArguments(), need, k.absent())
	}
	var list []policy.Touch
	for _, s := range k.policy.Sensitive {
		list = append(list, s.Touch)
	}
	return list, nil
}

// absent reports whether there is no person to ask.
func (k *call) absent() bool { return term.Absent(k.Prompter) != nil }

// pathArguments are the arguments of the seven tools that are paths.
func (k *call) pathArguments() []string {
	args := map[string]any{}
	for _, key := range []string{"path", "paths", "prefixes", "source", "target"} {
		args[key] = k.args[key]
	}
	list := texts(args)
	patterns, _ := k.args["patterns"].([]any)
	for _, p := range patterns {
		if m, ok := p.(map[string]any); ok {
			list = append(list, texts(map[string]any{"paths": m["paths"]})...)
		}
	}
	return list
}

// reaches says what is asked about. Of a pattern of the repository it says only where that is written: the host must not
// say the words of others as its own.
func (k *call) reaches(s policy.Touch) string {
	if s.Pattern.Repository {
		return show.Name(s.Path) + " is a place of secrets, as " + show.Name(s.Pattern.Origin) + " says"
	}
	return fmt.Sprintf("%s is a place of secrets (%s)", show.Name(s.Path), show.Line(cmp.Or(s.Pattern.Written, s.Pattern.Pattern)))
}

// place is where the answer about a place of secrets is remembered: for this tool, which is this program, for what it
// could do there, and for the place that the path leads to. linked: symlinks other than those of mounts lead there.
func (k *call) place(s policy.Touch) (where consent.Remembered, linked bool) {
	at := k.policy.Where(s.Path)
	if to, err := wspath.CanonicalizeAbs(at, nil); err == nil {
		linked = jptool.Fold(at) != jptool.Fold(to.Abs)
		at = to.Abs
	}
	return consent.Remembered{
		Tool: k.Tool.Name, On: OnSensitive, Question: s.Path,
		Scope: scope(at, strings.Join(s.Covered.Names(), " "), k.program()),
	}, linked
}

// allowPlace asks a person, unless that is answered already.
func (k *call) allowPlace(ctx context.Context, s policy.Touch) error {
	text := k.reaches(s)
	if s.Named && k.unattendedByUser() {
		k.answered(OnSensitive, s.Path, ByConfig)
		k.warnOnce(ctx, text+", and "+show.Visible(k.Tool.Name)+" may reach it, because a rule names it")
		return nil
	}
	where, linked := k.place(s)
	if linked && !s.Named {
		// A rule for it would be one for what it leads to, and its name stays withheld: a yes would do nothing.
		return refuse(ReasonSensitive, "%s was not run: %s, and a symlink leads elsewhere from there\n"+
			"give the path that it leads to, or allow all places of secrets for this call: --allow-sensitive", k.Tool.Name, text)
	}
	again := ""
	if old, known := k.Memory.Recall(where); known && !old.Yes && k.absent() {
		// What a model is told is the same as if nobody had been asked.
		again = "\nit was declined for this session; to be asked again: jphost session forget " + show.Word(k.Tool.Name)
	} else if known {
		k.answered(OnSensitive, s.Path, BySession)
		if old.Yes {
			return nil
		}
		return k.notRun(ReasonSensitive, fmt.Errorf("%s, and that was declined for this session\n"+
			"to be asked again: jphost session forget %s", text, show.Word(k.Tool.Name)))
	}
	verb := cmp.Or(verbs[k.Tool.Name], "reach")
	if !k.builtIn() || k.Tool.Name == "fs_move_file" { // which may move something to the place as well as away
		verb = "reach"
	}
	prompt := "Let " + show.Name(k.Tool.Name) + " " + verb + " " + show.Name(s.Path)
	if k.Memory.Remembers() {
		prompt += ", for the rest of this session"
	}
	answer, err := k.Prompter.Bool(ctx, term.BoolQuestion{Message: term.Message{Body: text + ".\n"}, Prompt: prompt + "?", Default: term.No()})
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return refuse(ReasonSensitive, "%s was not run: %s. That is asked for once per session, and %w%s\nto allow it for this call: --allow-sensitive\nfor good: %s", k.Tool.Name, text, err, again, k.naming(s))
	case err != nil:
		return k.notRun(ReasonSensitive, err)
	}
	k.answered(OnSensitive, s.Path, ByPerson)
	k.remember(ctx, where, answer.Yes)
	if !answer.Yes {
		return k.notRun(ReasonSensitive, fmt.Errorf("%s, and that was declined", text))
	}
	return nil
}

// naming says how to allow a place for good.
func (k *call) naming(s policy.Touch) string {
	if s.Named {
		return "set run = \"unattended\" for the tool in your own config"
	}
	rule := fit.FsRule(s.Path, s.Covered)
	list := settings.JoinKey("conversation", "tools", k.Tool.Name, "access", "fs")
	text := "add " + show.Line(fit.FsText(&rule)) + " to " + list + " and set run = \"unattended\" for the tool, in your own config"
	if k.Tool.Access == nil || k.Tool.Access.FS == nil {
		text += ", beside what else is to be granted, such as " + fit.FsText(new(fit.FsRule("", s.Covered)))
	}
	return text
}

// mentioned tells, once per session and place, that the tool named a place of secrets on standard error that is withheld
// from it: it may have failed because of that. It is a hint, and misses what a tool does silently.
func (k *call) mentioned(ctx context.Context, stderr string) {
	if stderr == "" || k.policy.Access == nil {
		return
	}
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(stderr, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`,:;()[]{}<>=|", r) }) {
		name := filepath.ToSlash(word)
		if rest, ok := strings.CutPrefix(name, filepath.ToSlash(k.Root)+"/"); ok {
			name = rest
		}
		if name = path.Clean(name); !path.IsAbs(name) && !strings.HasPrefix(name, "../") && len(words) < maxTexts && len(name) < maxText {
			words[name] = true
		}
	}
	list, err := k.policy.Touches(slices.Sorted(maps.Keys(words)), jptool.AllCaps, true)
	if err != nil {
		return // it was only a hint
	}
	for _, s := range list {
		_, missing := os.Lstat(filepath.Join(k.Root, s.Path))
		switch {
		case s.Named, missing != nil:
		case k.holdsBack(): // the name is the tool's own word
			k.warn(show.Visible(k.Tool.Name) + " spoke of a place of secrets, which is withheld from it")
			return
		default:
			k.warnOnce(ctx, fmt.Sprintf("%s spoke of %s, which is withheld from it: %s\nto allow it: %s", show.Visible(k.Tool.Name), show.Visible(s.Path), k.reaches(s), k.naming(s)))
		}
	}
}
