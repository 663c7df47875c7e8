package gitstate

import (
	"bytes"
	"errors"
	"regexp"
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

// The parts of git's config format that are regular. What stands between them, blanks and comments, is blank.
var (
	configBlank    = regexp.MustCompile(`^(?:[ \t\n]|[#;][^\n]*)*`)
	configSection  = regexp.MustCompile(`^\[([A-Za-z0-9.-]+)([ \t]+"(?:[^"\\\n]|\\[^\n])*")?\]`)
	configVariable = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|[#;\n]|$)`)
)

// parseConfig reads git's config format and calls set for each variable of a section without subsection.
// Section and key arrive in lower case. Other sections are only checked for syntax.
func parseConfig(data []byte, set func(section, key, value string, hasValue bool) error) error {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	section, plain := "", false
	for {
		data = data[len(configBlank.Find(data)):]
		if len(data) == 0 {
			return nil
		}
		if m := configSection.FindSubmatch(data); m != nil {
			data = data[len(m[0]):]
			section = strings.ToLower(string(m[1]))
			plain = m[2] == nil && !strings.Contains(section, ".") // "[section.sub]" is the old form
			continue
		}
		m := configVariable.FindSubmatch(data)
		if m == nil {
			return errSyntax
		}
		key, value, hasValue := strings.ToLower(string(m[1])), "", string(m[2]) == "="
		data = data[len(m[0])-len(m[2]):]
		if hasValue {
			var ok bool
			if value, data, ok = configValue(data[1:]); !ok {
				return errSyntax
			}
		}
		if plain && set(section, key, value, hasValue) != nil { // not plain either: before the first section
			return errSyntax
		}
	}
}

// configValue reads what follows "=": quotes, escapes and continuation lines as git does, up to a comment or the
// end of the line, where the rest begins. Spaces at both ends are dropped unless quoted.
func configValue(data []byte) (value string, rest []byte, ok bool) {
	var out []byte
	quoted, keep := false, 0
	for len(data) > 0 && data[0] != '\n' {
		c := data[0]
		data = data[1:]
		switch {
		case !quoted && (c == ' ' || c == '\t'):
			if keep > 0 {
				out = append(out, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			_, data, _ = bytes.Cut(data, []byte("\n"))
			return string(out[:keep]), data, true
		case c == '"':
			quoted = !quoted
			keep = len(out)
			continue
		case c == '\\':
			if len(data) == 0 {
				return "", nil, false
			}
			c = data[0]
			data = data[1:]
			switch c {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '\\', '"':
			default:
				return "", nil, false
			}
		}
		out = append(out, c)
		keep = len(out)
	}
	return string(out[:keep]), data, !quoted
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
