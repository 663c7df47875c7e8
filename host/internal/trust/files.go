package trust

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/wspath"
)

// The limits of what is looked at for one list: so many files by their content, each up to so many bytes, the others by
// size and time of change; and so many names at all, with those that patterns are compared with.
const (
	maxDigested      = 64
	maxDigestedBytes = 1 << 20
	maxNames         = 1 << 15
)

// namedFiles are the scripts of the workspace that commands of the repository's layers name: whoever accepts
// `sh lint.sh` means the lint.sh of the time. It does not know what else a program reads, such as what those files name
// in turn.
func namedFiles(root string, repository []config.Setting) []consent.Setting {
	f := &fileNamer{root: root, ids: map[string]identity{}}
	for _, c := range commands(repository) {
		f.command, f.seen, f.dirs = c, map[string]bool{}, nil
		names := namesIn(scripts(c.Command))
		for _, name := range names {
			f.name("", name)
		}
		// A command may go to a directory that it names (`cd lib`, `make -C lib`, "$D/x.sh").
		for i := 0; i < len(f.dirs); i++ {
			for _, name := range names {
				f.name(f.dirs[i], name)
			}
		}
		if f.names > maxNames {
			f.add("(more files than jphost looks for)", identity{value: "changes of the others are not noticed"})
			break
		}
	}
	return f.found
}

type fileNamer struct {
	root    string
	command *command
	// seen are the paths that this command was found to name, and dirs the directories among them.
	seen  map[string]bool
	dirs  []string
	names int
	// ids are what is known of files, by canonical path; digested counts those that were read.
	ids      map[string]identity
	digested int
	found    []consent.Setting
}

// name looks for what a name, or a pattern of a shell, leads to from a directory.
func (f *fileNamer) name(dir, name string) {
	if rest, ok := wspath.WithinAbs(f.root, filepath.ToSlash(name)); ok {
		dir, name = "", rest
	}
	f.look(dir, name)
	// A pattern that all names match says nothing.
	if strings.ContainsAny(name, "*?[") && !path.IsAbs(name) && strings.Trim(name, "*?/.") != "" {
		f.matches(dir, strings.ReplaceAll(name, "[!", "[^"))
	}
}

// matches looks for what a pattern matches below a directory.
func (f *fileNamer) matches(dir, pattern string) {
	part, rest, more := strings.Cut(pattern, "/")
	var found []string
	if !strings.ContainsAny(part, "*?[") {
		found = []string{part}
	} else if entries, err := os.ReadDir(f.root + "/" + dir); err == nil && f.names <= maxNames {
		f.names += len(entries)
		for _, e := range entries {
			is, err := path.Match(part, e.Name())
			if err == nil && is && (e.Name()[0] != '.' || part[0] == '.') {
				found = append(found, e.Name())
			}
		}
	}
	for _, name := range found {
		if more {
			f.matches(dir+name+"/", rest)
		} else {
			f.look(dir, name)
		}
	}
}

// look looks for what a name from a directory leads to: a file counts, and other names may be relative to a directory.
func (f *fileNamer) look(dir, name string) {
	if f.names++; f.names > maxNames {
		return
	}
	if !filepath.IsAbs(name) {
		name = f.root + "/" + dir + name // not joined, which would take link/.. for the directory of the link
	}
	abs, err := filepath.EvalSymlinks(name)
	rel, in := wspath.WithinAbs(f.root, filepath.ToSlash(abs))
	if err != nil || !in || rel == "" || f.seen[rel] {
		return
	}
	f.seen[rel] = true
	if st, err := os.Lstat(abs); err == nil && st.IsDir() {
		f.dirs = append(f.dirs, rel+"/")
	} else if is := f.identity(wspath.JoinSlash(f.root, rel)); is.value != "" {
		f.add(rel, is)
	}
}

func (f *fileNamer) add(runs string, is identity) {
	at := f.command.at.Origin
	f.found = append(f.found, consent.Setting{
		Key: f.command.key, Value: is.value, File: within(f.root, at.File), Line: at.Line, Runs: runs, Text: is.text,
	})
}

// The names in a text are runs of the characters that are common in names, and such runs with what stands between them:
// so many of them at most.
var (
	plainRun   = settings.Pattern(`[\pL\pN\pM._/~+-]+`)
	patternRun = settings.Pattern(`[\pL\pN\pM._/~+*?^\[\]!-]+`)
)

const (
	maxRuns     = 8
	maxAttached = 16
)

// expansions of a shell become patterns. The working directory is that of the workspace. What stands for an unset
// variable is a word of its own.
var (
	expansions = settings.Pattern(`\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_][A-Za-z_0-9]*|\$[0-9@*#?!$-]|` +
		"`[^`]*`" + `|\{[^{}\s]*\}`)
	here  = settings.Pattern(`\$PWD\b|\$\{PWD\}|~\+/`)
	unset = settings.Pattern(`\$\{[A-Za-z_0-9]+:?[=+-]`)
)

// namesIn are all names and patterns that may stand in texts, however these are quoted, and in scripts within scripts.
func namesIn(texts []string) []string {
	var names []string
	for _, text := range texts {
		names = append(names, text)
		text = unset().ReplaceAllString(here().ReplaceAllString(filepath.ToSlash(text), "./"), " ")
		bare := strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
		for _, t := range []string{text, bare} {
			for _, word := range strings.FieldsFunc(t, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`;|&<>()", r) }) {
				names = append(names, word)
				for i, r := range word {
					if strings.ContainsRune("=:,@", r) {
						names = append(names, word[i+1:], word[:i])
					}
				}
			}
			runs := plainRun().FindAllStringIndex(t, -1)
			for i, from := range runs {
				for _, to := range runs[i:min(i+maxRuns, len(runs))] {
					names = append(names, t[from[0]:to[1]])
				}
				if run := t[from[0]:from[1]]; run[0] == '-' { // -fbuild.mk, -nfbuild.mk
					for n := 1; n < min(len(run), maxAttached); n++ {
						names = append(names, run[n:])
					}
				}
			}
		}
		for _, t := range []string{bare, expansions().ReplaceAllString(bare, "*")} {
			for _, run := range patternRun().FindAllString(t, -1) {
				names = append(names, run, strings.TrimPrefix(run, "*/"))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// identity tells one content of a regular file from another; its value is "" for anything else.
type identity struct {
	value string
	// text is the content, if it is a short text.
	text string
}

func (f *fileNamer) identity(abs string) identity {
	if known, ok := f.ids[abs]; ok {
		return known
	}
	f.ids[abs] = f.read(abs)
	return f.ids[abs]
}

func (f *fileNamer) read(abs string) (is identity) {
	dir, err := wspath.OpenDir(wspath.ParentOf(abs))
	if err != nil {
		return is
	}
	defer dir.Close()
	st, err := dir.Lstat(path.Base(abs))
	if err != nil || !st.Mode().IsRegular() {
		return is
	}
	is = identity{value: "it cannot be read"}
	file, err := dir.Open(path.Base(abs))
	if err != nil {
		return is
	}
	defer file.Close()
	if st, err = file.Stat(); err != nil {
		return is
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
