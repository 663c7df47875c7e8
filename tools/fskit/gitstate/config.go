package gitstate

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// maxConfig bounds the files that are read whole; real ones have a few KiB.
const maxConfig = 1 << 20

// config is what we use of a repository's config. Includes are not followed: git takes the extensions from
// this file alone as well, and of the rest only core.autocrlf could make a difference, to the safe side.
type config struct {
	version        int
	fileMode       bool
	symlinks       bool
	bare           bool
	autoCRLF       bool
	autoCRLFSet    bool
	worktree       string
	worktreeConfig bool
	objectFormat   string
	refStorage     string
	unknownExt     string
	v1Ext          string
}

func defaultConfig() config {
	return config{fileMode: true, symlinks: true, objectFormat: "sha1", refStorage: "files"}
}

// check refuses repositories whose files may mean something else than we think. git refuses them, too, when
// it does not know the extension.
func (c *config) check() error {
	switch {
	case c.version != 0 && c.version != 1:
		return unknownf("the repository has format version %d", c.version)
	case c.unknownExt != "":
		return unknownf("the repository uses the extension %q", c.unknownExt)
	case c.version == 0 && c.v1Ext != "":
		return unknownf("the repository uses the extension %q in format version 0", c.v1Ext)
	case c.objectFormat != "sha1" && c.objectFormat != "sha256":
		return unknownf("the repository has the object format %q", c.objectFormat)
	case c.refStorage != "files":
		return unknownf("the repository keeps its refs as %q", c.refStorage)
	}
	return nil
}

// parse adds a config file; later values win.
func (c *config) parse(data []byte) error {
	return parseConfig(data, func(section, key, value string, hasValue bool) (err error) {
		switch section + "." + key {
		case "core.repositoryformatversion":
			c.version, err = strconv.Atoi(value)
		case "core.filemode":
			c.fileMode, err = parseBool(value, hasValue)
		case "core.symlinks":
			c.symlinks, err = parseBool(value, hasValue)
		case "core.bare":
			c.bare, err = parseBool(value, hasValue)
		case "core.autocrlf":
			c.autoCRLFSet = true
			if c.autoCRLF = strings.EqualFold(value, "input"); !c.autoCRLF {
				c.autoCRLF, err = parseBool(value, hasValue)
			}
		case "core.worktree":
			c.worktree = value
		case "extensions.worktreeconfig":
			c.worktreeConfig, err = parseBool(value, hasValue)
		case "extensions.objectformat":
			c.objectFormat, c.v1Ext = value, key
		case "extensions.refstorage":
			c.refStorage, c.v1Ext = value, key
		case "extensions.noop", "extensions.noop-v1", "extensions.preciousobjects", "extensions.partialclone",
			"extensions.relativeworktrees":
			// They change nothing in the files we read.
		default:
			if section == "extensions" && c.unknownExt == "" {
				c.unknownExt = key
			}
		}
		return err
	})
}

var errSyntax = errors.New("malformed config")

// parseConfig reads git's config format and calls set for each variable of a section without subsection.
// Section and key arrive in lower case. Other sections are only checked for syntax.
func parseConfig(data []byte, set func(section, key, value string, hasValue bool) error) error {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	p := &configParser{data: data}
	section, plain := "", false
	for {
		switch c, ok := p.next(); {
		case !ok:
			return nil
		case c == ' ' || c == '\t' || c == '\n':
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			if section, plain, ok = p.section(); !ok {
				return errSyntax
			}
		case isAlpha(c):
			key, value, hasValue, ok := p.variable(c)
			if !ok {
				return errSyntax
			}
			if !plain { // also before the first section
				continue
			}
			if err := set(section, key, value, hasValue); err != nil {
				return errSyntax
			}
		default:
			return errSyntax
		}
	}
}

type configParser struct {
	data []byte
	pos  int
}

func (p *configParser) next() (byte, bool) {
	if p.pos >= len(p.data) {
		return 0, false
	}
	c := p.data[p.pos]
	p.pos++
	return c, true
}

func (p *configParser) skipLine() {
	if i := bytes.IndexByte(p.data[p.pos:], '\n'); i >= 0 {
		p.pos += i // the newline itself ends a value and is skipped as space elsewhere
	} else {
		p.pos = len(p.data)
	}
}

// section reads behind "[": a name, or a name and a quoted subsection. plain is false for subsections, also
// in the old form "[section.sub]".
func (p *configParser) section() (name string, plain, ok bool) {
	start := p.pos
	for {
		c, more := p.next()
		switch {
		case !more:
			return "", false, false
		case c == ']':
			name = strings.ToLower(string(p.data[start : p.pos-1]))
			return name, !strings.Contains(name, "."), name != ""
		case c == ' ' || c == '\t':
			name = strings.ToLower(string(p.data[start : p.pos-1]))
			return name, false, name != "" && p.subsection()
		case !isAlpha(c) && !isDigit(c) && c != '-' && c != '.':
			return "", false, false
		}
	}
}

func (p *configParser) subsection() bool {
	c, ok := p.next()
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.next()
	}
	if c != '"' {
		return false
	}
	for {
		switch c, ok = p.next(); {
		case !ok || c == '\n':
			return false
		case c == '\\':
			if c, ok = p.next(); !ok || c == '\n' {
				return false
			}
		case c == '"':
			c, ok = p.next()
			return ok && c == ']'
		}
	}
}

// variable reads "key", "key = value" up to the end of the line; first is the key's first letter.
func (p *configParser) variable(first byte) (key, value string, hasValue, ok bool) {
	name := []byte{first}
	c, more := p.next()
	for more && (isAlpha(c) || isDigit(c) || c == '-') {
		name = append(name, c)
		c, more = p.next()
	}
	key = strings.ToLower(string(name))
	for more && (c == ' ' || c == '\t') {
		c, more = p.next()
	}
	switch {
	case !more || c == '\n':
		return key, "", false, true
	case c == '#' || c == ';':
		p.skipLine()
		return key, "", false, true
	case c != '=':
		return "", "", false, false
	}
	value, ok = p.value()
	return key, value, true, ok
}

// value reads the rest of a line: quotes, escapes, comments and continuation lines as git does. Spaces at
// both ends are dropped unless quoted.
func (p *configParser) value() (string, bool) {
	var out []byte
	quoted, keep := false, 0
	for {
		c, more := p.next()
		switch {
		case !more || c == '\n':
			return string(out[:keep]), !quoted
		case !quoted && (c == ' ' || c == '\t'):
			if keep > 0 {
				out = append(out, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			continue
		case c == '"':
			quoted = !quoted
			keep = len(out)
			continue
		case c == '\\':
			switch c, more = p.next(); {
			case !more:
				return "", false
			case c == '\n':
				continue
			case c == 'n':
				c = '\n'
			case c == 't':
				c = '\t'
			case c == 'b':
				c = '\b'
			case c != '\\' && c != '"':
				return "", false
			}
		}
		out = append(out, c)
		keep = len(out)
	}
}

// parseBool takes git's spellings; "key" alone is true, "key =" is false.
func parseBool(value string, hasValue bool) (bool, error) {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true, nil
	case "":
		return !hasValue, nil
	case "false", "no", "off":
		return false, nil
	}
	n, err := strconv.Atoi(value)
	return n != 0, err
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
