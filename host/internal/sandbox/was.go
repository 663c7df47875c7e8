package sandbox

import (
	"fmt"
	"path"
)

const absent = "missing"

// Was is how the path of a change stood before the call, in the words of [State]; "" where that was not looked at.
func (b *Before) Was(c Change) string {
	switch c.What {
	case "appeared", "link":
		return absent // neither is looked for where something stood
	case "disappeared", "replaced", "content", "mode", "name":
		if m, ok := b.marks[c.Path]; ok {
			return m.state()
		}
		if to, ok := b.links[c.Path]; ok {
			return "link to " + to
		}
	}
	return ""
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
