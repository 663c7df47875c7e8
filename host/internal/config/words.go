package config

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words by the quoting rules of a POSIX shell. It
// expands nothing: $, *, ~, |, ; and # are characters like any other. An unquoted
// `{{ … }}` is never split, so that a placeholder may hold spaces and quotes.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("has a ' that is never closed")
			}
			word.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '"':
			n, err := doubleQuoted(s[i+1:], &word)
			if err != nil {
				return nil, err
			}
			i += n
		case '\\':
			if i+1 == len(s) {
				return nil, errors.New("ends in a backslash")
			}
			i++
			if s[i] == '\n' { // a continued line
				continue
			}
			word.WriteByte(s[i])
		case '{':
			end := strings.Index(s[i:], "}}")
			if !strings.HasPrefix(s[i:], "{{") || end < 0 {
				word.WriteByte(c)
				break
			}
			word.WriteString(s[i : i+end+2])
			i += end + 1
		case 0:
			return nil, errors.New("holds a NUL byte")
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// doubleQuoted appends what stands before the closing quote and returns how many bytes
// of s that took, the quote included.
func doubleQuoted(s string, word *strings.Builder) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return i + 1, nil
		case '\\':
			if i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
				i++
				if s[i] == '\n' {
					continue
				}
			}
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New(`has a " that is never closed`)
}
