package fit

import (
	"fmt"
	"path"
)

const absent = "missing"

// Was is how the path of a change stood before the call, in the words of [State]. It is "" where that was not looked at,
// and for a directory that is another one now: neither [Before.Verify] nor State looks at what is in it.
func (b *Before) Was(c Change) string {
	m, marked := b.marks[c.Path]
	switch c.What {
	case "appeared":
		return absent
	case "link":
		if !marked {
			return absent
		}
	case "disappeared", "replaced", "content", "mode", "name":
	default:
		return ""
	}
	if to, ok := b.links[c.Path]; !marked && ok {
		return "link to " + to
	}
	if !marked || m.Kind == Dir && c.What != "mode" {
		return ""
	}
	return m.state()
}

// State says how something stands now, so that equal words mean the same kind, content, mode and number of names; "" where
// that cannot be told. It cannot tell an object from another one that is the same in all this.
func State(abs string) string {
	m, err := measure(path.Clean(abs))
	switch {
	case err != nil:
		return ""
	case m.Kind == Link:
		to, err := readLink(m.Path)
		if err != nil {
			return ""
		}
		return "link to " + to
	}
	if m.Kind == File {
		m.readDigest()
	}
	return m.state()
}

func (m mark) state() string {
	switch {
	case m.Kind == Missing:
		return absent
	case m.Kind == Dir:
		return fmt.Sprintf("directory %o", m.mode)
	case m.Kind == File && m.read:
		return fmt.Sprintf("file %o %d sha256:%x", m.mode, m.links, m.digest)
	}
	return ""
}
