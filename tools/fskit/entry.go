package fskit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// Paths returns the canonical workspace-relative paths of targets, for `data`: an
// empty list for none.
func Paths(targets []*jptool.Target) []string {
	list := make([]string, 0, len(targets))
	for _, t := range targets {
		list = append(list, t.Path())
	}
	return list
}

// Quoted lists names for a message, at most 20 of them, as [jptool.Quote] shows each.
func Quoted(names []string) string {
	shown := make([]string, 0, len(names))
	for i, s := range names {
		if i == 20 {
			shown = append(shown, fmt.Sprintf("… (%d in all)", len(names)))
			break
		}
		shown = append(shown, jptool.Quote(s))
	}
	return strings.Join(shown, ", ")
}

// Bytes says a size: "1 byte", "12 bytes".
func Bytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// Plain returns text that comes from a model for a person's terminal: control characters
// other than line ends and tabs, which could paint over what it shows, are written out.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
