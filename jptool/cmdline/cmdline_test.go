package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// given is what a command line says.
type given struct {
	On, All bool
	Choice  string
	Text    string
	Tier    string
	List    []string
	Maybe   []string
	First   string
	Rest    []string
	Dashed  bool
	Err     string
}

func read(args []string, others func([]string) bool) given {
	var g given
	var choice *bool
	f := &Form{Others: others, Dashed: &g.Dashed}
	f.Switch(&g.On, "on", "help").Short = "o"
	f.Choice(&choice, "choice", "help")
	f.Text(&g.Text, "text", "TEXT", "help").Short = "t"
	f.OneOf(&g.Tier, "tier", "help", "auto", "landlock")
	f.List(&g.List, "list", "ITEM", "help")
	f.Maybe(&g.Maybe, &g.All, "maybe", "NAME", "help").Takes = func(words []string, next string) bool {
		return len(words) > 0 && !strings.ContainsAny(next, "-=")
	}
	f.Word(&g.First, "first", "help")
	f.Rest(&g.Rest, "rest", "help").Optional = true
	if err := f.Parse(args); err != nil {
		g.Err = err.Error()
	}
	if choice != nil {
		g.Choice = map[bool]string{true: "yes", false: "no"}[*choice]
	}
	return g
}

func TestParse(t *testing.T) {
	for line, want := range map[string]given{
		"a":                     {First: "a"},
		"a b c":                 {First: "a", Rest: []string{"b", "c"}},
		"a --on b":              {First: "a", On: true, Rest: []string{"b"}},
		"--on=false a":          {First: "a"},
		"--on=yes a":            {First: "a", On: true},
		"a --choice":            {First: "a", Choice: "yes"},
		"a --no-choice":         {First: "a", Choice: "no"},
		"a --choice=0":          {First: "a", Choice: "no"},
		"a --text x --text=y=z": {First: "a", Text: "y=z"},
		"a --text=":             {First: "a"},
		"a --text -":            {First: "a", Text: "-"},
		"a --text -5":           {First: "a", Text: "-5"},
		"a --text=--on":         {First: "a", Text: "--on"},
		"a --list x --list=y,z": {First: "a", List: []string{"x", "y,z"}},
		"a -o":                  {First: "a", On: true},
		"a -t x":                {First: "a", Text: "x"},
		"a -tx":                 {First: "a", Text: "x"},
		"a -t=x":                {First: "a", Text: "x"},
		"a -ot x":               {First: "a", On: true, Text: "x"},
		"a -o=no":               {First: "a"},
		"a --tier landlock":     {First: "a", Tier: "landlock"},
		"a -- --on -t":          {First: "a", Rest: []string{"--on", "-t"}},
		"-- a":                  {First: "a", Dashed: true},
		"- -":                   {First: "-", Rest: []string{"-"}},
		"a --maybe b":           {First: "a", All: false, Maybe: []string{"b"}},
		"--maybe a":             {First: "a", All: true},
		"a --maybe b=c":         {First: "a", All: true, Rest: []string{"b=c"}},
		"a --maybe=b --maybe":   {First: "a", All: true, Maybe: []string{"b"}},
		"":                      {Err: "<first> is missing"},
		"--":                    {Err: "<first> is missing", Dashed: true},
		"a --frob":              {Err: "unknown flag --frob"},
		"a --txet x":            {Err: "unknown flag --txet, did you mean --text?"},
		"a --hlep":              {Err: "unknown flag --hlep, did you mean --help?"},
		"a -x":                  {Err: "unknown flag -x"},
		"a -ox":                 {Err: "unknown flag -ox", On: true},
		"a --text":              {Err: "--text is without its value"},
		"a -t":                  {Err: "-t is without its value"},
		"a --text --on":         {Err: "--text is without its value; if --on is the value, write --text=--on"},
		"a --on=maybe":          {Err: `--on must be true or false, not "maybe"`},
		"a --tier x":            {Err: `--tier must be auto or landlock, not "x"`},
		"a --help":              {Err: ErrHelp.Error()},
		"-h":                    {Err: ErrHelp.Error()},
		"a -oh":                 {Err: ErrHelp.Error(), On: true},
		"--text x -- a --help":  {First: "a", Rest: []string{"--help"}, Text: "x", Dashed: true},
		"a --no-on":             {Err: "unknown flag --no-on"},
		"a --no-choice=true":    {Err: "--no-choice has no value; there is --choice=true, and =false"},
		"a --no-chioce":         {Err: "unknown flag --no-chioce, did you mean --no-choice?"},
		"a --no-text":           {Err: "unknown flag --no-text"},
		"a --choice=FALSE":      {First: "a", Choice: "no"},
		"a --=":                 {Err: "unknown flag --"},
	} {
		if want.Tier == "" {
			want.Tier = "auto"
		}
		if diff := cmp.Diff(want, read(strings.Fields(line), nil)); diff != "" {
			t.Errorf("%s: -want +got\n%s", line, diff)
		}
	}
}

func TestOthers(t *testing.T) {
	others := func(words []string) bool { return len(words) > 0 }
	for line, rest := range map[string]string{
		"--on make -j --text -- x": "-j --text -- x",
		"--on -- make -- x":        "-- x",
		"--on - --on":              "--on",
	} {
		if g := read(strings.Fields(line), others); g.Err != "" || !g.On || strings.Join(g.Rest, " ") != rest {
			t.Errorf("%s: %+v", line, g)
		}
	}
}

func TestWords(t *testing.T) {
	var shell string
	var names []string
	shells := func() *Form {
		f := &Form{}
		f.Word(&shell, "shell", "help").OneOf = []string{"bash", "zsh", "fish"}
		return f
	}
	many := func() *Form {
		f := &Form{}
		f.Rest(&names, "name", "help")
		return f
	}
	var unexpected *UnexpectedError
	if err := shells().Parse([]string{"zsh", "x", "y"}); !errors.As(err, &unexpected) || unexpected.Word != "x" || err.Error() != "unexpected argument x" {
		t.Error(err)
	}
	if err := shells().Parse([]string{"csh"}); err == nil || err.Error() != `<shell> must be bash, zsh or fish, not "csh"` {
		t.Error(err)
	}
	if err := many().Parse(nil); err == nil || err.Error() != "<name> … is missing" {
		t.Error(err)
	}
	if err := many().Parse([]string{"a", "", "b"}); err != nil || !slices.Equal(names, []string{"a", "", "b"}) {
		t.Error(err, names)
	}
}

// A value that is a text may begin with a dash; where it could be a flag as well, it is said how to write it.
func TestDashes(t *testing.T) {
	for value, want := range map[string]string{
		"- item":      "",
		"--- a title": "",
		"-\n":         "",
		"---":         "--text is without its value; if --- is the value, write --text=---",
		"-x=a b":      `--text is without its value; if "-x=a b" is the value, write --text="-x=a b"`,
		"--\x1b=":     `--text is without its value; if "--\x1b=" is the value, write --text="--\x1b="`,
	} {
		if g := read([]string{"a", "--text", value}, nil); g.Err != want || want == "" && g.Text != value {
			t.Errorf("%q: got %q, %s", value, g.Text, g.Err)
		}
		if g := read([]string{"a", "--text=" + value}, nil); g.Err != "" || g.Text != value {
			t.Errorf("%q with =: got %q, %s", value, g.Text, g.Err)
		}
	}
	for arg, want := range map[string]string{"": `unexpected argument ""`, "a\nb": `unexpected argument "a\nb"`, "a b": `unexpected argument "a b"`, "ä…": "unexpected argument ä…"} {
		if err := (&Form{}).Parse([]string{arg}); err == nil || err.Error() != want {
			t.Errorf("%q: %v", arg, err)
		}
	}
	if err := (&Form{}).Parse([]string{"--a\nb"}); err == nil || err.Error() != `unknown flag "--a\nb"` {
		t.Error(err)
	}
}

// A form can have the flag of the help for itself.
func TestOwnHelp(t *testing.T) {
	var help bool
	f := &Form{}
	f.Switch(&help, "help", "help").Short = "h"
	for _, arg := range []string{"-h", "--help"} {
		if err := f.Parse([]string{arg}); err != nil || !help {
			t.Errorf("%s: %v", arg, err)
		}
		help = false
	}
}

// Whatever is given is read or refused; what is read says the same with its flags first.
func TestOrder(t *testing.T) {
	piece := rapid.SampledFrom([][]string{{"--on"}, {"-o"}, {"--text", "x"}, {"-ty"}, {"--list=a"}, {"--list", "b"}, {"w"}, {"-"}, {"--no-choice"}, {"--tier", "auto"}, {"-x"}, {"--text"}})
	rapid.Check(t, func(t *rapid.T) {
		var flags, words, mixed []string
		for _, p := range rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces") {
			mixed = append(mixed, p...)
			if len(p) == 1 && (p[0] == "-" || p[0] == "w") {
				words = append(words, p...)
			} else {
				flags = append(flags, p...)
			}
		}
		got, want := read(mixed, nil), read(append(flags, words...), nil)
		if got.Err == "" && want.Err == "" {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q: -flags first +mixed\n%s", mixed, diff)
			}
		}
	})
}
