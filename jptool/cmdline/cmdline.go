// Package cmdline reads command lines: flags and words in any order, `--name VALUE` or `--name=VALUE`, one
// letter after one dash, and `--` before words that look like flags. What may be given is said by calls
// that take the variables it goes to; nothing is done before the first of them, and nothing by reflection.
//
//	var f cmdline.Form
//	f.Switch(&c.All, "all", "Also what is hidden.")
//	f.Word(&c.Dir, "dir", "Where to look.").Optional = true
//	err := f.Parse(os.Args[1:])
package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/nearest"
)

// ErrHelp says that -h or --help was given.
var ErrHelp = errors.New("help was asked for")

// UnexpectedError is a word too many.
type UnexpectedError struct{ Word string }

// Error names the word.
func (e *UnexpectedError) Error() string { return "unexpected argument " + Shown(e.Word) }

// Form is what a command line may hold, in the order of its help. -h and --help are always among it; a flag of
// the form's own that is called so stands in for them.
type Form struct {
	Flags []*Flag
	Words []*Word
	// Others is asked before every argument with the words so far: from the argument on of which it is true, all
	// are words, whatever they look like, because they are somebody else's command line. It may be nil.
	Others func(words []string) bool
	// Dashed, if not nil, is set when `--` comes before the first word.
	Dashed *bool
	// Instead says for flags that there are not, as they would be written, what to write.
	Instead map[string]string
}

// Flag is one flag of a [Form].
type Flag struct {
	Name string // without dashes
	// Short is a letter for it, or nothing.
	Short string
	// Value stands for the value in a help; a switch has none.
	Value string
	Help  string
	// OneOf are all the values that there are, if not empty.
	OneOf []string
	// Takes is for a flag whose value may be left out: whether the next argument is the value, after these words.
	Takes func(words []string, next string) bool

	bare func()             // given without a value; nil if there has to be one
	set  func(string) error // given with one
	not  func()             // given as --no-NAME; nil if that is no flag
}

// Word is a word of a [Form], or all that are left.
type Word struct {
	Name, Help string
	Optional   bool
	// Many says that it stands for all words that are left.
	Many bool
	// OneOf are all the words that there are, if not empty.
	OneOf []string

	set func(string)
}

// Switch is a flag that is on when it is given.
func (f *Form) Switch(to *bool, name, help string) *Flag {
	return f.flag(&Flag{Name: name, Help: help, bare: func() { *to = true }, set: func(s string) (err error) {
		*to, err = boolean(s)
		return err
	}})
}

// Choice is a switch that can be given as --no-NAME as well; to is nil if it was not given.
func (f *Form) Choice(to **bool, name, help string) *Flag {
	as := func(b bool) func() { return func() { *to = &b } }
	return f.flag(&Flag{Name: name, Help: help, bare: as(true), not: as(false), set: func(s string) error {
		b, err := boolean(s)
		*to = &b
		return err
	}})
}

// Text is a flag with a value; of several the last holds.
func (f *Form) Text(to *string, name, value, help string) *Flag {
	return f.flag(&Flag{Name: name, Value: value, Help: help, set: func(s string) error {
		*to = s
		return nil
	}})
}

// OneOf is a flag with one of a few values. The first is that of a command line without the flag, if to is empty.
func (f *Form) OneOf(to *string, name, help string, values ...string) *Flag {
	if *to == "" {
		*to = values[0]
	}
	flag := f.Text(to, name, strings.Join(values, "|"), help)
	flag.OneOf = values
	return flag
}

// List is a flag with a value that can be repeated.
func (f *Form) List(to *[]string, name, value, help string) *Flag {
	return f.flag(&Flag{Name: name, Value: value, Help: help, set: func(s string) error {
		*to = append(*to, s)
		return nil
	}})
}

// Maybe is a List whose value can be left out, which sets bare.
func (f *Form) Maybe(to *[]string, bare *bool, name, value, help string) *Flag {
	flag := f.List(to, name, value, help)
	flag.bare = func() { *bare = true }
	return flag
}

func (f *Form) flag(add *Flag) *Flag {
	f.Flags = append(f.Flags, add)
	return add
}

// Word is the next word.
func (f *Form) Word(to *string, name, help string) *Word {
	return f.word(&Word{Name: name, Help: help, set: func(s string) { *to = s }})
}

// Rest is all further words, at least one if it is not made optional.
func (f *Form) Rest(to *[]string, name, help string) *Word {
	return f.word(&Word{Name: name, Help: help, Many: true, set: func(s string) { *to = append(*to, s) }})
}

func (f *Form) word(add *Word) *Word {
	f.Words = append(f.Words, add)
	return add
}

// Parse reads args, which do not include the program. The error says what is wrong with them, is [ErrHelp], or an
// [*UnexpectedError].
func (f *Form) Parse(args []string) error {
	var words []string
	for len(args) > 0 {
		arg := args[0]
		switch {
		case f.Others != nil && f.Others(words):
			return f.fill(append(words, args...))
		case arg == "--":
			if f.Dashed != nil && len(words) == 0 {
				*f.Dashed = true
			}
			return f.fill(append(words, args[1:]...))
		case len(arg) < 2 || arg[0] != '-':
			words, args = append(words, arg), args[1:]
		default:
			flag := f.short
			if arg[1] == '-' {
				flag = f.long
			}
			used, err := flag(args, words)
			if err != nil {
				return err
			}
			args = args[used:]
		}
	}
	return f.fill(words)
}

// long reads the flag that args begin with, and reports how many of them it is.
func (f *Form) long(args, words []string) (used int, err error) {
	written, value, valued := strings.Cut(args[0], "=")
	name := written[len("--"):]
	for _, flag := range f.Flags {
		switch {
		case flag.Name == name && valued:
			return 1, flag.take(written, value)
		case flag.Name == name:
			return flag.given(written, args, words)
		case flag.not != nil && name == "no-"+flag.Name && valued:
			return 0, fmt.Errorf("%s has no value; there is --%s=true, and =false", written, flag.Name)
		case flag.not != nil && name == "no-"+flag.Name:
			flag.not()
			return 1, nil
		}
	}
	if name == "help" {
		return 0, ErrHelp
	}
	return 0, f.unknown(written)
}

// short is long for letters after one dash: `-q`, `-qv`, `-C DIR`, `-CDIR`, `-C=DIR`.
func (f *Form) short(args, words []string) (used int, err error) {
	letters := args[0][1:]
	for i := range len(letters) {
		letter, rest := letters[i:i+1], letters[i+1:]
		at := slices.IndexFunc(f.Flags, func(flag *Flag) bool { return flag.Short == letter })
		switch {
		case at < 0 && letter == "h":
			return 0, ErrHelp
		case at < 0:
			return 0, f.unknown(args[0])
		}
		flag, written := f.Flags[at], "-"+letter
		switch {
		case rest == "":
			return flag.given(written, args, words)
		case rest[0] == '=' || flag.bare == nil:
			return 1, flag.take(written, strings.TrimPrefix(rest, "="))
		}
		flag.bare()
	}
	return 1, nil
}

// given is for a flag without `=`: a value is the next of args.
func (flag *Flag) given(written string, args, words []string) (used int, err error) {
	next := ""
	if len(args) > 1 {
		next = args[1]
	}
	switch {
	case flag.bare != nil && (len(args) == 1 || flag.Takes == nil || !flag.Takes(words, next)):
		flag.bare()
		return 1, nil
	case len(args) == 1:
		return 0, fmt.Errorf("%s is without its value", written)
	case looksLikeFlag(next):
		return 0, fmt.Errorf("%s is without its value; if %s is the value, write %s=%[2]s", written, Shown(next), written)
	}
	return 2, flag.take(written, next)
}

// looksLikeFlag: a dash alone is standard input, before a digit it is a minus, and no flag has a blank in its
// name, as texts and lists in Markdown have.
func looksLikeFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return len(arg) > 1 && arg[0] == '-' && (arg[1] < '0' || arg[1] > '9') && !strings.ContainsAny(name, " \t\r\n")
}

func (flag *Flag) take(written, value string) error {
	if err := among(written, flag.OneOf, value); err != nil {
		return err
	}
	if err := flag.set(value); err != nil {
		return fmt.Errorf("%s %w", written, err)
	}
	return nil
}

func (f *Form) unknown(written string) error {
	if instead := f.Instead[written]; instead != "" {
		return fmt.Errorf("unknown flag %s\n%s", Shown(written), instead)
	}
	known := []string{"--help"}
	for _, flag := range f.Flags {
		known = append(known, "--"+flag.Name)
		if flag.not != nil {
			known = append(known, "--no-"+flag.Name)
		}
	}
	near := nearest.Word(written, known)
	if near == "" || !strings.HasPrefix(written, "--") || written == "--no-"+near[len("--"):] { // the opposite
		return fmt.Errorf("unknown flag %s", Shown(written))
	}
	return fmt.Errorf("unknown flag %s, did you mean %s?", Shown(written), near)
}

// fill gives the words to who takes them.
func (f *Form) fill(words []string) error {
	for _, w := range f.Words {
		if len(words) == 0 && !w.Optional {
			return fmt.Errorf("%s is missing", w)
		}
		for n := len(words); n > 0; n-- {
			if err := among(w, w.OneOf, words[0]); err != nil {
				return err
			}
			w.set(words[0])
			if words = words[1:]; !w.Many {
				break
			}
		}
	}
	if len(words) > 0 {
		return &UnexpectedError{words[0]}
	}
	return nil
}

// String is the word as usage lines have it: <name>, or <name> ….
func (w *Word) String() string {
	if w.Many {
		return "<" + w.Name + "> …"
	}
	return "<" + w.Name + ">"
}

// Needs reports whether the value is the next argument where it is not given with `=`.
func (flag *Flag) Needs() bool { return flag.bare == nil }

// Shown is an argument as messages have it: quoted where it would not be seen, or not as one.
func Shown(arg string) string {
	if quoted := strconv.Quote(arg); arg == "" || strings.Contains(arg, " ") || quoted != `"`+arg+`"` {
		return quoted
	}
	return arg
}

func boolean(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, not %q", s)
}

// among wants what was given for name to be one of the values that there are, if any are said.
func among(name any, values []string, given string) error {
	if values == nil || slices.Contains(values, given) {
		return nil
	}
	return fmt.Errorf("%s must be %s, not %q", name, either(values), given)
}

// either joins the last two by "or".
func either(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
