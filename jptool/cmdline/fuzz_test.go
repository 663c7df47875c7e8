package cmdline

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: whatever is given, nothing panics, and nothing of what is read is lost: what is no flag comes out as a
// word or a value, all after `--` as words. Written in another way, it is read the same.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"", "a b", "--on a", "--list=x -l y", "-olx", "--maybe a", "a --maybe b", "a -- --on", "-", "--", "-l", "--no-choice", "--choice=TRUE",
		"-o=", "a -\xc3\xa9", "--=", "-=", "-ho", "a --list -5", "--list -- b",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"), false)
		f.Add(strings.ReplaceAll(line, " ", "\x00"), true)
	}
	f.Fuzz(func(t *testing.T, line string, others bool) {
		args := strings.Split(line, "\x00")
		list, words, again, err := readAll(args, others)
		if err != nil {
			if !errors.Is(err, ErrHelp) && (err.Error() == "" || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%q: the error is not a line: %q", args, err)
			}
			return
		}
		given := slices.Concat(list, words)
		for _, arg := range args {
			if arg == "-" || !strings.HasPrefix(arg, "-") {
				i := slices.Index(given, arg)
				if i < 0 {
					t.Fatalf("%q is lost of %q: %q and %q", arg, args, list, words)
				}
				given = slices.Delete(given, i, i+1)
			}
		}
		if i := slices.Index(args, "--"); i >= 0 && (len(words) < len(args)-i-1 || !slices.Equal(words[len(words)-(len(args)-i-1):], args[i+1:])) {
			t.Errorf("after --: %q gives the words %q", args, words)
		}
		list2, words2, again2, err := readAll(again, others)
		if err != nil || !slices.Equal(list, list2) || !slices.Equal(words, words2) || !slices.Equal(again, again2) {
			t.Errorf("%q, written as %q, is %q, %q and %q, %v", args, again, list2, words2, again2, err)
		}
	})
}

// readAll reads a command line, and writes it in one way.
func readAll(args []string, others bool) (list, words, again []string, err error) {
	var on, all bool
	var choice *bool
	form := &Form{}
	if others {
		form.Others = func(words []string) bool { return len(words) > 0 }
	}
	form.Switch(&on, "on", "").Short = "o"
	form.Choice(&choice, "choice", "")
	form.List(&list, "list", "ITEM", "").Short = "l"
	form.Maybe(&list, &all, "maybe", "NAME", "").Takes = func(words []string, next string) bool {
		return len(words) > 0 && next != "" && !looksLikeFlag(next)
	}
	form.Rest(&words, "rest", "").Optional = true
	if err := form.Parse(args); err != nil {
		return nil, nil, nil, err
	}
	for _, item := range list {
		again = append(again, "--list="+item)
	}
	if on {
		again = append(again, "-o")
	}
	if all {
		again = append(again, "--maybe")
	}
	if choice != nil {
		again = append(again, map[bool]string{true: "--choice", false: "--no-choice"}[*choice])
	}
	return list, words, append(append(again, "--"), words...), nil
}
