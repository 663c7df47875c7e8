// Package walk visits the files of a workspace that a tool may show: one walk, pruned
// by the access policy, by ignore files and by suppress patterns as it goes, so that
// what is left out costs nothing.
//
// It is free of races by construction: it reaches every directory by its path below one that
// the workspace holds, and every entry by its name in an open directory, without following any
// symlink. If another process rearranges the tree meanwhile, the walk can miss files, but it
// never leaves the workspace. Only an approved mount leads outside, to its approved target.
//
// Files come in one order, component by component and byte by byte, however many
// goroutines read ahead, and what is read ahead is bounded: no listing but that of a
// single directory is ever held as a whole.
//
// What it does not stop: a process that may rename a directory out of the workspace during
// the walk can make the walk see what is put into that directory later. A hard link in the workspace
// shows its file, even if a rule denies another name of that file.
package walk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/tools/fskit"
)

// Options say what to visit.
type Options struct {
	// Starts are the paths to start at, as a caller wrote them: directories, files, or
	// the beginnings of names. Nil is the whole workspace, an empty list is nothing.
	Starts []string
	// Filter leaves out files; nil takes every one.
	Filter *Filter
	// Suppress leaves out files and directories that are not to be shown.
	Suppress *ignore.Globs
	// NoIgnore turns ignore files off. `.git` is still skipped, unless a start names it.
	NoIgnore bool
	// MaxDepth, if positive, is how many levels below a start are visited; 1 is the
	// files in it.
	MaxDepth int
	// After, if not "", is the path after which the walk continues.
	After string
	// OnDir, if not nil, is called for directories, in order with the files, and [Dir] has the number of files in each
	// when the walk is over. With Tree they are those down to MaxDepth, without it those that MaxDepth cuts off. Then
	// the walk also visits what is deeper, and counts the files without emitting them. It stops that after CountTime.
	OnDir func(*Dir)
	Tree  bool
	// CountTime bounds how long files are only counted; 0 is no bound.
	CountTime time.Duration
}

// Dir is a directory and the number of files in it, at any depth: those that would be emitted.
type Dir struct {
	Path  string
	Files int64
	// AtLeast says that there may be more files: something could not be read, or the time was over.
	AtLeast bool
}

// Result says what a walk did besides emitting files.
type Result struct {
	// Starts has an entry for each of Options.Starts.
	Starts []Start
	// Skipped counts what was left out.
	Skipped Skipped
	// Counted is how many files were only counted, see Options.OnDir.
	Counted int64
	// Ended is the reason for which the walk is not complete, an error of the context,
	// or nil.
	Ended error
}

// Start is what became of one start.
type Start struct {
	// Given is the path as the caller wrote it.
	Given string
	// Err says why it could not be used.
	Err error
	// Partial says that nothing has this path, so that it was taken as the beginning
	// of names; Nothing, that no name begins so either, but for names that are withheld.
	Partial, Nothing bool
	// Near is the path that was probably meant, if Nothing.
	Near string
	// Place is where it leads, for tokens: never to be shown.
	Place string

	partial *partial
	missing *jptool.Target
}

// Skipped counts what a walk left out. What lies in a directory that was left out is
// not counted.
//
// What is suppressed, and the rules that withhold something, are counted by directory: in a directory
// that is visited as a whole, all of them, whatever the filter selects; where only certain names are
// visited, or the walk continues after a path, none. So the numbers say how much is withheld, and
// reveal no names. Files that the filter leaves out are not in
// any of the other numbers.
type Skipped struct {
	// Ignored counts files, IgnoredDirs directories that ignore files exclude.
	Ignored     int64 `json:"ignored"`
	IgnoredDirs int64 `json:"ignored_dirs"`
	// Suppressed counts files and directories that suppress patterns cover.
	Suppressed int64 `json:"suppressed"`
	// Denied counts the places that rules withhold in directories that may be read, whether or not anything is
	// there. Places below a directory that is withheld may be granted; a start of this
	// kind is counted by itself.
	Denied int64 `json:"denied"`
	// Secrets counts places of secrets that no rule names.
	Secrets int64 `json:"secrets"`
	// Unreadable counts directories and mounts that could not be opened or read.
	Unreadable int64 `json:"unreadable"`
	// NotAddressable counts names that are not UTF-8.
	NotAddressable int64 `json:"not_addressable"`
	// Deeper counts directories below the depth limit.
	Deeper int64 `json:"deeper"`
}

func (s *Skipped) add(o *Skipped) {
	s.Ignored += o.Ignored
	s.IgnoredDirs += o.IgnoredDirs
	s.Suppressed += o.Suppressed
	s.Denied += o.Denied
	s.Secrets += o.Secrets
	s.Unreadable += o.Unreadable
	s.NotAddressable += o.NotAddressable
	s.Deeper += o.Deeper
}

// Batch is a run of files in one directory, next to each other in the order of the walk.
type Batch struct {
	// Paths are workspace-relative; files of a mount have the mount's path in front.
	// The strings may be kept, the slice may not be changed.
	Paths []string
	// Named says that the caller named the file, of which there is then just one.
	Named bool

	dir *node
}

// Hold keeps the directory of the files for use after emit has returned, until Release.
func (b *Batch) Hold() { b.dir.refs.Add(1) }

// Release ends Hold.
func (b *Batch) Release() { b.dir.unref() }

// Open opens the i-th file for reading into f. It follows no symlink, and does not block
// where something else has taken the file's place; reading that gives an error or nothing.
// It does not check the kind of the file before it opens it: a device that a process with the right to
// make one puts there during the walk is opened.
// It may be called by several goroutines.
func (b *Batch) Open(i int, f *File) error {
	d, err := b.dir.handle()
	if err != nil {
		return err
	}
	name := b.dir.realName
	if name == "" {
		name = baseName(b.Paths[i])
	}
	return d.openFile(name, f)
}

// A Planned walk has its starts resolved. What it visits is reached without following a symlink, so
// it is what the starts led to when it was planned.
type Planned struct {
	ws     *jptool.Workspace
	o      *Options
	root   *sel // nil: nothing to visit
	result Result
}

// Plan resolves the starts and visits nothing.
//
// A start that cannot be used is reported in Starts; only when none can be used is
// there an error, which has the code of the first. When ctx ends, nothing will be visited, and Result.Ended
// of the walk says so.
func Plan(ctx context.Context, ws *jptool.Workspace, o Options) (*Planned, error) {
	p := &Planned{ws: ws, o: &o}
	return p, p.plan(ctx)
}

// Starts says what will become of each of Options.Starts.
func (p *Planned) Starts() []Start { return p.result.Starts }

// Walk visits the files and calls emit with one batch after the other, in order and
// never at the same time. An error of emit ends the walk and is returned as it is. When
// ctx ends, Result.Ended is set and what was emitted until then is right. It is called once.
//
// The batch is emit's until it returns; what is to be used later is a copy, after Hold.
func (p *Planned) Walk(ctx context.Context, emit func(*Batch) error) (*Result, error) {
	if p.root == nil {
		return &p.result, nil
	}
	w := newWalker(ctx, p.ws, p.o, p.root)
	err := w.run(emit)
	p.result.Skipped.add(&w.skipped)
	p.result.Counted, p.result.Ended = w.counted, w.ended
	looked := 0
	for i := range p.result.Starts {
		s := &p.result.Starts[i]
		s.Nothing = s.partial != nil && !s.partial.found.Load() && w.ended == nil
		if s.Nothing && s.missing != nil && looked < mostNear {
			s.Near = fskit.Near(p.o.Suppress, s.missing)
			looked++
		}
	}
	return &p.result, err
}

// Notes says in sentences what is missing in the result of a walk, for a model to read:
// starts that could not be used, one line with the numbers of what was left out, and
// whether the walk is complete.
func (r *Result) Notes() []string {
	notes := StartNotes(r.Starts)
	if text := r.Skipped.String(); text != "" {
		notes = append(notes, "left out: "+text)
	}
	switch {
	case errors.Is(r.Ended, context.DeadlineExceeded):
		notes = append(notes, "the time limit was reached: the result is not complete; narrow it down")
	case r.Ended != nil:
		notes = append(notes, "the call was cancelled: the result is not complete")
	}
	return notes
}

// mostStarts bounds the starts that messages name.
const mostStarts = 100

// mostNear is for how many starts a near name is looked for, each of which lists a directory.
const mostNear = 10

// StartNotes says which starts could not be used or led to nothing, at most 100 of them.
func StartNotes(starts []Start) []string {
	var notes []string
	for _, s := range starts {
		if len(notes) == mostStarts {
			return append(notes, "and more paths that cannot be used or lead to nothing")
		}
		switch {
		case s.Err != nil && !slices.Contains(notes, s.Err.Error()):
			notes = append(notes, s.Err.Error())
		case s.Nothing:
			note := "no path is or begins with " + jptool.Quote(s.Given)
			if s.Near != "" {
				note += "; did you mean " + jptool.Quote(s.Near) + "?"
			}
			notes = append(notes, note)
		}
	}
	return notes
}

// String lists the numbers that are not zero, each with its reason.
func (s *Skipped) String() string {
	var parts []string
	add := func(n int64, one, many, why string) {
		if n > 0 {
			parts = append(parts, count(n, one, many)+" "+why)
		}
	}
	var ignored []string
	if s.Ignored > 0 {
		ignored = append(ignored, count(s.Ignored, "file", "files"))
	}
	if s.IgnoredDirs > 0 {
		ignored = append(ignored, count(s.IgnoredDirs, "directory", "directories"))
	}
	if ignored != nil {
		parts = append(parts, strings.Join(ignored, " and ")+" by ignore files (name one to see it)")
	}
	add(s.Suppressed, "path", "paths", "suppressed by this tool's configuration")
	add(s.Denied, "path", "paths", "without `read` in the access rules")
	add(s.Secrets, "place", "places", "of secrets (name one to ask the user for it)")
	add(s.Unreadable, "path", "paths", "that could not be read")
	add(s.NotAddressable, "name", "names", "not valid UTF-8")
	add(s.Deeper, "directory", "directories", "deeper than `max_depth`")
	return strings.Join(parts, "; ")
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
