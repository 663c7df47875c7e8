package trust

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// The limits of what is looked at for one list: so many files by their content, each up to so many
// bytes, the others by size and time of change; and so many words of commands at all.
const (
	maxDigested      = 16
	maxDigestedBytes = 1 << 20
	maxWords         = 4096
)

// namedFiles are the scripts of the workspace that commands of the repository's layers name word for word: whoever
// accepts `sh lint.sh` means the lint.sh of the time. It does not know what else a program reads, such as what
// those files name in turn.
func namedFiles(root string, repository []config.Setting) []consent.Setting {
	f := &fileNamer{site: jptool.Site{Root: root}, seen: map[string]bool{}, ids: map[string]identity{}}
	for _, c := range commands(repository) {
		list, sure := scripts(c.Command)
		for _, n := range list {
			f.word(c, n)
		}
		if !sure {
			for _, word := range strings.FieldsFunc(withoutOutputs(strings.Join(append([]string{c.Program}, c.Args...), "\n")), func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>`\"'$=", r) }) {
				f.word(c, named{word, true})
			}
		}
	}
	return f.found
}

type fileNamer struct {
	site  jptool.Site
	words int
	seen  map[string]bool
	// ids are what is known of files, by canonical path; digested counts those that were read.
	ids      map[string]identity
	digested int
	found    []consent.Setting
}

// word looks for the file that a word names.
func (f *fileNamer) word(c *command, n named) {
	if f.words++; f.words > maxWords {
		return
	}
	rel, err := jptool.RulePath(n.word, f.site.Root)
	if err != nil || rel.IsRoot() {
		return
	}
	to, err := f.site.Resolve(rel, false)
	if err != nil || to.Missing() || to.Place.Outside {
		return
	}
	id := c.at.Origin.File + "\x00" + c.key + "\x00" + to.Place.Path
	if f.seen[id] {
		return
	}
	if is := f.identity(f.site.Abs(to.Place)); is.value != "" && (n.script || is.runs) {
		f.seen[id] = true
		f.found = append(f.found, consent.Setting{
			Key: c.key, Value: is.value, File: within(f.site.Root, c.at.Origin.File), Line: c.at.Origin.Line, Runs: to.Place.Path, Text: is.text,
		})
	}
}

// withoutOutputs leaves out what a script writes to (`> file`): it would differ after every call,
// and is not what runs. Where it is run too, it is named for that.
func withoutOutputs(script string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(script, ">")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte(' ')
		script = after
		if strings.HasSuffix(before, "<") { // <> reads as well
			continue
		}
		script = strings.TrimLeft(strings.TrimLeft(script, ">|"), " \t")
		end := strings.IndexAny(script+" ", " \t\r\n;|&()<>`\"'$")
		script = script[end:]
	}
}

// identity tells one content of a regular file from another; its value is "" for anything else.
type identity struct {
	value string
	// runs: the file is executable or begins with #!.
	runs bool
	// text is the content, if it is a short text.
	text string
}

func (f *fileNamer) identity(abs string) identity {
	if known, ok := f.ids[abs]; ok {
		return known
	}
	f.ids[abs] = f.look(abs)
	return f.ids[abs]
}

func (f *fileNamer) look(abs string) (is identity) {
	dir, err := wspath.OpenDir(wspath.ParentOf(abs))
	if err != nil {
		return is
	}
	defer dir.Close()
	st, err := dir.Lstat(path.Base(abs))
	if err != nil || !st.Mode().IsRegular() {
		return is
	}
	is = identity{value: "it cannot be read", runs: st.Mode()&0o111 != 0}
	file, err := dir.Open(path.Base(abs))
	if err != nil {
		return is
	}
	defer file.Close()
	if st, err = file.Stat(); err != nil {
		return is
	}
	head := make([]byte, 2)
	if n, _ := file.ReadAt(head, 0); string(head[:n]) == "#!" {
		is.runs = true
	}
	if st.Size() <= maxDigestedBytes && f.digested < maxDigested {
		f.digested++
		data, err := io.ReadAll(io.LimitReader(file, maxDigestedBytes+1))
		if err == nil && len(data) <= maxDigestedBytes {
			is.value = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
			if len(data) <= consent.MaxScript && utf8.Valid(data) {
				is.text = string(data)
			}
			return is
		}
	}
	is.value = fmt.Sprintf("not read: %d bytes, of %s", st.Size(), st.ModTime().UTC().Format(time.RFC3339Nano))
	return is
}
