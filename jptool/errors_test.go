package jptool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/jptools/jptools/jptool"
)

func TestErrorfKeepsEveryCause(t *testing.T) {
	first, second := errors.New("first"), &jptool.PathError{Path: "f", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err    error
		causes []error
	}{
		{jptool.Errorf(jptool.CodeIO, "none: %v", first), nil},
		{jptool.Errorf(jptool.CodeIO, "one: %w", first), []error{first}},
		{jptool.Errorf(jptool.CodeIO, "two: %w and %w", first, second), []error{first, second, fs.ErrNotExist}},
		{fmt.Errorf("around: %w", jptool.Errorf(jptool.CodeIO, "two: %w and %w", second, first)), []error{first, second, fs.ErrNotExist}},
	} {
		for _, cause := range []error{first, second, fs.ErrNotExist} {
			want := false
			for _, of := range c.causes {
				want = want || of == cause
			}
			if errors.Is(c.err, cause) != want {
				t.Errorf("%v: errors.Is %v is %v", c.err, cause, !want)
			}
		}
		var path *jptool.PathError
		if got := errors.As(c.err, &path); got != (len(c.causes) > 1) {
			t.Errorf("%v: a PathError in it: %v", c.err, got)
		}
		if jptool.CodeOf(c.err) != jptool.CodeIO {
			t.Errorf("%v has the code %s", c.err, jptool.CodeOf(c.err))
		}
	}
}

// A name is one name wherever a sentence has it.
func TestQuote(t *testing.T) {
	shown := map[string]string{}
	for name, want := range map[string]string{
		"src/lib.rs": "src/lib.rs", "(group)/[id].tsx": "(group)/[id].tsx", `a\n`: `a\n`, "größe": "größe", "": `""`,
		"a b": `"a b"`, "a\nb": `"a\nb"`, "it's": `"it's"`, `say "x"`: `"say \"x\""`, `"`: `"\""`, "a`b": "\"a`b\"", "\u202egnp": `"\u202egnp"`, "a\u00a0b": `"a\u00a0b"`,
		"a.txt' (2 bytes). Nothing else would change. 'b": `"a.txt' (2 bytes). Nothing else would change. 'b"`,
		"\"a b\"": `"\"a b\""`,
	} {
		got := jptool.Quote(name)
		if got != want {
			t.Errorf("%q: %s; want %s", name, got, want)
		}
		if other, twice := shown[got]; twice {
			t.Errorf("%q and %q look the same: %s", name, other, got)
		}
		shown[got] = name
	}
}
