package trust

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

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

// namedFiles are the regular files of the workspace that commands of the repository's layers name
// word for word: whoever accepts `sh lint.sh` means the lint.sh of the time. It does not
// know what else a program reads, such as what those files name in turn.
func namedFiles(root string, repository []config.Setting) []consent.Setting {
	f := &fileNamer{site: jptool.Site{Root: root}, seen: map[string]bool{}, ids: map[string]string{}}
	for _, s := range repository {
		parts := splitKey(s.Key)
		own := 4 // how many parts the key of a command itself has
		if len(parts) > 4 && parts[3] == "style" && parts[4] == "parameters" {
			own = 5
		} else if len(parts) < 4 || parts[3] != "command" {
			continue
		}
		key, words, last := s.Key, s.Value.Strings(), parts[len(parts)-1]
		if len(parts) > own {
			key = strings.TrimSuffix(key, "."+last)
		} else if c := config.ParseCommand(s.Value); c != nil {
			words = append([]string{c.Program}, c.Args...)
		}
		for i, text := range words {
			// A program by a bare name is looked for on PATH.
			if i > 0 || last == "args" || strings.ContainsAny(text, `/\ `) {
				f.word(s, key, text)
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
	ids      map[string]string
	digested int
	found    []consent.Setting
}

// word looks for files that a word names: as a whole, in the parts of a script, and after a =.
func (f *fileNamer) word(s config.Setting, key, text string) {
	list := append([]string{text}, strings.FieldsFunc(withoutOutputs(text), func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>`\"'$=", r) })...)
	slices.Sort(list)
	for _, name := range slices.Compact(list) {
		if f.words++; f.words > maxWords {
			return
		}
		rel, err := jptool.RulePath(name, f.site.Root)
		if err != nil || rel.IsRoot() {
			continue
		}
		to, err := f.site.Resolve(rel, false)
		if err != nil || to.Missing() || to.Place.Outside {
			continue
		}
		id := s.Origin.File + "\x00" + key + "\x00" + to.Place.Path
		if f.seen[id] {
			continue
		}
		f.seen[id] = true
		if value := f.identity(f.site.Abs(to.Place)); value != "" {
			f.found = append(f.found, consent.Setting{Key: key, Value: value, File: within(f.site.Root, s.Origin.File), Line: s.Origin.Line, Runs: to.Place.Path})
		}
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

// identity tells one content of a regular file from another; it is "" for anything else.
func (f *fileNamer) identity(abs string) string {
	if known, ok := f.ids[abs]; ok {
		return known
	}
	f.ids[abs] = f.digest(abs)
	return f.ids[abs]
}

func (f *fileNamer) digest(abs string) string {
	dir, err := wspath.OpenDir(wspath.ParentOf(abs))
	if err != nil {
		return ""
	}
	defer dir.Close()
	st, err := dir.Lstat(path.Base(abs))
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	file, err := dir.Open(path.Base(abs))
	if err != nil {
		return "it cannot be read"
	}
	defer file.Close()
	if st, err = file.Stat(); err != nil {
		return "it cannot be read"
	}
	if st.Size() <= maxDigestedBytes && f.digested < maxDigested {
		f.digested++
		data, err := io.ReadAll(io.LimitReader(file, maxDigestedBytes+1))
		if err == nil && len(data) <= maxDigestedBytes {
			return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		}
	}
	return fmt.Sprintf("not read: %d bytes, of %s", st.Size(), st.ModTime().UTC().Format(time.RFC3339Nano))
}
