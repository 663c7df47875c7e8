package weburl

import (
	"fmt"
	"slices"
	"strings"
)

// maxRounds bounds how often a path may be percent-encoded on top of itself. Nobody
// does it more than twice on purpose, and each round is one more way to read it.
const maxRounds = 4

// PathReadings calls yield with the segments of rawPath in every way that servers
// are known to read it, until yield returns false. The first reading is the one of
// browsers: split at slashes (and, for special schemes, backslashes), dot segments
// removed whether they are encoded or not, then each segment decoded once. The
// others arise only where the path holds what servers disagree on:
//
//   - a backslash, which separates or does not;
//   - an empty segment, which counts, is removed before dot segments are resolved,
//     or is removed after;
//   - a semicolon, with which the rest of the segment is part of it or a parameter;
//   - an encoding, which is undone once or more often before the path is split, so
//     that %2F is a slash, %252F too, and %2e%2e climbs after having been hidden;
//   - a dot segment, which the client resolves before it sends the path, or the server
//     after decoding it;
//   - a NUL, and after such decoding a `?` or `#`, at which the path ends or not.
//
// A caller that acts only on what holds for all readings cannot be dodged by any of
// these. PathReadings knows nothing of servers that ignore case, drop trailing dots
// or spaces, decode %uXXXX, normalise Unicode, or rewrite paths by rules of their own.
//
// A path encoded more than four times on top of itself is an error, before any call.
func PathReadings(rawPath string, special bool, yield func(segments []string) bool) error {
	r := reader{special: special, yield: yield}
	if more, err := r.readEncoded(rawPath); !more || err != nil {
		return err
	}
	for _, backslash := range choices(strings.Contains(rawPath, `\`), special) {
		if sent := resolve(rawPath, backslash); sent != rawPath {
			if more, err := r.readEncoded(sent); !more || err != nil {
				return err
			}
		}
	}
	return nil
}

// readEncoded yields the readings of a path as it may reach a server, and reports
// whether yield wants more.
func (r *reader) readEncoded(path string) (more bool, err error) {
	texts := []string{path}
	for next := decode(path); next != texts[len(texts)-1]; next = decode(next) {
		if len(texts) > maxRounds {
			return false, fmt.Errorf("its path is percent-encoded more than %d times over", maxRounds)
		}
		texts = append(texts, next)
	}
	for round, text := range texts {
		r.encoded = round == 0
		ends := "\x00"
		if round > 0 {
			ends = "\x00?#"
		}
		for _, cut := range choices(strings.ContainsAny(text, ends), false) {
			t := text
			if cut {
				t = t[:strings.IndexAny(t, ends)]
			}
			for _, params := range choices(strings.Contains(t, ";"), false) {
				for _, backslash := range choices(strings.Contains(t, `\`), r.special) {
					if !r.read(t, backslash, params) {
						return false, nil
					}
				}
			}
		}
	}
	return true, nil
}

// choices lists the answers to one question about a path: both, the usual one first,
// or only the usual one when the question does not arise.
func choices(arises, usual bool) []bool {
	if arises {
		return []bool{usual, !usual}
	}
	return []bool{usual}
}

// JoinPath writes decoded segments as a path for people, with all that could be
// mistaken for structure encoded.
func JoinPath(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(escape(s, pathEscapes+`/%\;`))
	}
	return b.String()
}

// reader splits one text in the ways that empty segments allow.
type reader struct {
	special bool
	yield   func([]string) bool
	// encoded says that the text is as written, so that segments are decoded
	// after dot segments were removed, and %2e counts as a dot.
	encoded bool
}

func (r *reader) read(text string, backslash, params bool) bool {
	if backslash {
		text = strings.ReplaceAll(text, `\`, "/")
	}
	var raw []string
	if text != "" {
		raw = strings.Split(text[1:], "/") // the first byte is always the separator in front of a segment
	}
	if params {
		for i := range raw {
			raw[i], _, _ = strings.Cut(raw[i], ";")
		}
	}
	if !r.emit(raw, false, false) {
		return false
	}
	empties := len(raw) > 0 && slices.Contains(raw[:len(raw)-1], "")
	return !empties || r.emit(raw, true, true) && r.emit(raw, false, true)
}

// emit resolves dot segments and yields the result, with empty segments dropped
// before, after, or not at all.
func (r *reader) emit(raw []string, dropBefore, dropAfter bool) bool {
	empty := func(s string) bool { return s == "" }
	if dropBefore {
		raw = slices.DeleteFunc(slices.Clone(raw), empty)
	}
	out := climb(raw, r.encoded)
	if dropAfter {
		out = slices.DeleteFunc(out, empty)
	}
	if r.encoded {
		for i := range out {
			out[i] = decode(out[i])
		}
	}
	return r.yield(out)
}

// climb removes dot segments; encoded says that %2e is a dot.
func climb(segments []string, encoded bool) []string {
	out := []string{}
	for _, s := range segments {
		switch dots(s, encoded) {
		case 0:
			out = append(out, s)
		case 2:
			out = out[:max(len(out)-1, 0)]
		}
	}
	return out
}

var encodedDots = strings.NewReplacer("%2e", ".", "%2E", ".")

// dots returns 1 for a segment that means "here", 2 for one that means "up", else 0.
func dots(s string, encoded bool) int {
	if encoded && strings.Contains(s, "%") {
		s = encodedDots.Replace(s)
	}
	if s == "." || s == ".." {
		return len(s)
	}
	return 0
}

// normalPath returns the path as browsers send it.
func normalPath(raw string, special bool) string {
	if raw == "" && special {
		return "/"
	}
	return escape(resolve(raw, special), pathEscapes)
}

// resolve removes dot segments, encoded or not, and leaves all else as it is but for
// backslashes, which become slashes when they separate.
func resolve(raw string, backslash bool) string {
	if backslash {
		raw = strings.ReplaceAll(raw, `\`, "/")
	}
	if !strings.Contains(raw, ".") && !strings.Contains(raw, "%2") {
		return raw
	}
	segments := strings.Split(raw[1:], "/")
	out := climb(segments, true)
	if dots(segments[len(segments)-1], true) > 0 {
		out = append(out, "") // a path that ends in a dot segment names a directory
	}
	return "/" + strings.Join(out, "/")
}
