package learn

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/observe"
)

// tops are directories of the system of which programs that need anything need the whole.
var tops = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}

// top is the directory of the system that a path lies in; "" for none.
func top(abs string) string {
	for _, dir := range tops {
		if _, in := wspath.WithinAbs(dir, abs); in {
			return dir
		}
	}
	return ""
}

// generalise returns the place to grant because of a refusal, or why there is none.
func (w *World) generalise(r observe.Refusal) (at, why string) {
	if dir := top(r.Path); dir != "" && !writes(r) {
		return dir, ""
	}
	dir := r.Path
	if made(r) || !isDir(r.Path) {
		dir = path.Dir(r.Path)
	}
	if w.inside(r.Path) {
		return dir, ""
	}
	if w.proposable(dir, writes(r)) && isDir(dir) {
		return dir, ""
	}
	switch _, err := os.Lstat(filepath.FromSlash(r.Path)); {
	case err != nil && made(r):
		return "", "it is not there, and all of " + dir + " is too much for it: if it is a directory, make it yourself and run this again"
	case err != nil:
		return "", "it is not there"
	case made(r):
		return "", "to create or delete it takes a grant on all of " + dir + ": name that yourself"
	case isDir(r.Path) && (w.wide(r.Path) || places.Never(r.Path, writes(r), false, w.Homes...) != ""):
		return "", "it holds far more than that: name what is needed of it yourself"
	}
	return r.Path, ""
}

// proposable reports whether a directory outside of the workspace may be proposed with all that is in it.
func (w *World) proposable(dir string, writes bool) bool {
	caps := jptool.Read
	if writes {
		caps |= jptool.Write
	}
	return !w.wide(dir) && places.Never(dir, writes, false, w.Homes...) == "" &&
		w.Guarded(observe.Refusal{Path: dir, Lacking: caps}) == ""
}

// wide reports whether a directory holds more than one program's or project's things. The home directory and those at
// the root do, and those that programs share.
func (w *World) wide(dir string) bool {
	if strings.Count(dir, "/") < 2 || slices.Contains([]string{"/var/lib", "/var/cache", "/var/tmp", "/usr/local"}, dir) {
		return true
	}
	for _, home := range w.Homes {
		if _, around := wspath.WithinAbs(dir, home); around || path.Dir(dir) == path.Dir(home) {
			return true
		}
		rest, below := wspath.WithinAbs(home, dir)
		if below && slices.Contains([]string{".config", ".cache", ".local", ".local/share", ".local/state", "Library", "Documents", "Desktop", "Downloads"}, rest) {
			return true
		}
	}
	return false
}

// many is of how many entries of a directory that were refused the directory is proposed.
const many = 3

// together joins grants: many in one directory become that directory, and what another covers goes.
func (w *World) together(list []Grant) []Grant {
	for {
		entries := map[string]map[string]bool{}
		writing := map[string]bool{}
		for _, g := range list {
			dir := path.Dir(g.Path)
			if entries[dir] == nil {
				entries[dir] = map[string]bool{}
			}
			entries[dir][g.Path] = true
			writing[dir] = writing[dir] || g.Writes
		}
		joined := false
		for _, dir := range slices.Sorted(maps.Keys(entries)) {
			if len(entries[dir]) < many || !w.inside(dir) && !w.proposable(dir, writing[dir]) {
				continue
			}
			for i := range list {
				if path.Dir(list[i].Path) == dir {
					list[i].Path, joined = dir, true
				}
			}
		}
		if !joined {
			return covered(list)
		}
	}
}

// mostExamples bounds how many refused paths a grant names.
const mostExamples = 3

// covered joins grants of one path, and drops those that another one above has, too.
func covered(list []Grant) []Grant {
	slices.SortStableFunc(list, func(a, b Grant) int { return strings.Compare(a.Path, b.Path) })
	kept := []Grant{}
	for _, g := range list {
		i := slices.IndexFunc(kept, func(k Grant) bool {
			_, in := wspath.WithinAbs(k.Path, g.Path)
			return in && (k.Writes || !g.Writes || k.Path == g.Path)
		})
		if i < 0 {
			kept = append(kept, g)
			continue
		}
		kept[i].Writes = kept[i].Writes || g.Writes
		for _, example := range g.For {
			if len(kept[i].For) < mostExamples && !slices.Contains(kept[i].For, example) {
				kept[i].For = append(kept[i].For, example)
			}
		}
	}
	return kept
}

func isDir(abs string) bool {
	fi, err := os.Stat(filepath.FromSlash(abs))
	return err == nil && fi.IsDir()
}
