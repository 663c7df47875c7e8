package undo

import (
	"bytes"
	"fmt"
	"io"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/jptools/jptools/jptool"
)

// diffMost is the size up to which contents are compared by lines.
const diffMost = 1 << 20

// side is one side of a diff: what is at a place, and its content if it is a file that can be had.
type side struct {
	State
	content []byte
	missing string // why it cannot be had
}

// Diff shows what a record did to one of its items, in lines of a unified diff where it can. Later records are needed
// for what is no longer there.
func (s *Store) Diff(ws *jptool.Workspace, r *Record, item *Item, later []*Record) string {
	before := s.keptSide(&item.Before)
	after := side{State: item.After, missing: "it was changed since"}
	t, err := resolve(ws, item)
	if err == nil {
		now := seen{t: t}
		now.State, err = look(t)
		if is, _ := same(now.State, item.After, now.digest); err == nil && is {
			after = liveSide(&now)
		}
	}
	for _, l := range later {
		for i := range l.Items {
			was := &l.Items[i].Before
			if after.missing == "" || l.Items[i].Abs != item.Abs || was.Kept == nil {
				continue
			}
			if is, _ := same(*was, item.After, func() (string, error) { return "", nil }); is {
				after = s.keptSide(was)
			}
		}
	}
	return diff(item.Name, before, after)
}

// Diffs fills in what the actions of a plan do to files.
func (p *Plan) Diffs() {
	for _, s := range p.Steps {
		for _, a := range s.Actions {
			if a.Verb != PutBack && a.Verb != Remove {
				continue
			}
			now := liveSide(&a.now)
			if a.now.t == nil {
				now = p.store.keptSide(&a.now.State)
			}
			a.Diff = diff(a.Path, now, p.store.keptSide(&a.item.Before))
		}
	}
}

func (s *Store) keptSide(before *State) side {
	one := side{State: *before, missing: before.NotKept}
	if before.Kind != File || before.Kept == nil {
		return one
	}
	f, err := s.Kept(before)
	if err != nil {
		one.missing = err.Error()
		return one
	}
	defer f.Close()
	return one.read(f)
}

func liveSide(now *seen) side {
	one := side{State: now.State}
	if now.Kind != File || now.t == nil {
		return one
	}
	f, err := now.t.Open()
	if err != nil {
		one.missing = err.Error()
		return one
	}
	defer f.Close()
	return one.read(f)
}

// read reads the content.
func (s side) read(f io.Reader) side {
	data, err := io.ReadAll(io.LimitReader(f, diffMost+1))
	switch {
	case err != nil:
		s.missing = err.Error()
	case len(data) > diffMost:
		s.missing = "it is too large to be shown"
	case bytes.IndexByte(data, 0) >= 0:
		s.missing = "it is not text"
	}
	s.content = data
	return s
}

// diff shows how a place becomes another one.
func diff(name string, from, to side) string {
	name = jptool.Visible(name)
	if from.Kind != File && to.Kind != File || from.missing+to.missing != "" {
		text := fmt.Sprintf("--- a/%s\n+++ b/%s\n", name, name)
		return text + fmt.Sprintf("- %s\n+ %s\n", from.describe(), to.describe())
	}
	labels := []string{"a/" + name, "b/" + name}
	for i, s := range []side{from, to} {
		if s.Kind != File {
			labels[i] = "/dev/null"
		}
	}
	text := udiff.Unified(labels[0], labels[1], string(from.content), string(to.content))
	if from.Kind == File && to.Kind == File && from.Mode != to.Mode {
		text = fmt.Sprintf("mode of %s: %v -> %v\n", name, from.Mode, to.Mode) + text
	}
	return text
}

// describe is the side in words.
func (s side) describe() string {
	switch {
	case s.Kind == File && s.missing != "":
		return fmt.Sprintf("a file of %d bytes (%s)", s.Size, s.missing)
	case s.Kind == File:
		return fmt.Sprintf("a file of %d bytes", s.Size)
	case s.Kind == Link:
		return fmt.Sprintf("a symlink to %q", s.Link)
	case s.Kind == Absent:
		return "nothing"
	}
	return string(s.Kind)
}
