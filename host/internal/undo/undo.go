// Package undo keeps what calls of the seven tools change, and puts it back.
//
// Before a tool starts, [Store.Begin] looks at the places that the arguments of the call name, under the policy of the
// call, and copies the content of files there into the private state of the workspace. After the call, [Pending.Finish]
// looks again. What is the same is forgotten; the rest is a [Record]: for each place how it was before and how it is
// after. Undoing a record makes the places what they were before, if they still are what the call left ([Plan]). It is a
// change like any other and has a record of its own, so that it can be undone too.
//
// The tools take no part in this. They are confined to the workspace and never see the state; only a person's command
// reads it. A place that the policy of the call does not let the tool read is not copied.
//
// Content is copied just before the tool starts. If another program changes the file between the copy and the call, and
// the tool says what it found there, the copy is thrown away; if not (fs_create_file without a digest), undo brings back
// what was there when the copy was made. Copies are not forced to the disk: after a power failure the last ones may be
// missing or damaged, and are refused. Programs that are not one of the seven tools are not covered.
package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"github.com/jptools/jptools/jptool/strictjson"
)

// Record is what one call, or one undo, changed.
type Record struct {
	// ID counts the changes of a workspace from 1; it is 0 while the call is under way.
	ID int `json:"change"`
	// Token tells the records of two calls apart that have no ID yet.
	Token        string    `json:"token"`
	Time         time.Time `json:"time"`
	Conversation string    `json:"conversation"`
	// Tool is the name of the tool; of an undo that of the call that it took back.
	Tool string `json:"tool"`
	// Undoes is the record that this one took back, 0 if it is a call.
	Undoes int `json:"undoes,omitempty"`
	// Running says that nobody has looked after the call yet: it is under way, or was interrupted, so that After of
	// all items is unknown.
	Running bool `json:"running,omitempty"`
	// Partial says that an undo failed before it was done.
	Partial bool `json:"partial,omitempty"`
	// Moved says that the first item went to the place of the second; of one that is Running that it was to.
	Moved bool   `json:"moved,omitempty"`
	Items []Item `json:"items"`
}

// Item is one place that changed.
type Item struct {
	// Name is the path in the workspace, as the tools name it; Abs is its canonical absolute path.
	Name   string `json:"name"`
	Abs    string `json:"abs"`
	Before State  `json:"before"`
	After  State  `json:"after"`
}

// Kind is what there can be at a place.
type Kind string

// The kinds. Unknown is an After of a record that is Running.
const (
	Absent  Kind = "absent"
	File    Kind = "file"
	Link    Kind = "symlink"
	Dir     Kind = "directory"
	Other   Kind = "other"
	Unknown Kind = "unknown"
)

// State is what was at a place at one moment.
type State struct {
	Kind Kind `json:"kind"`
	// Mode has the permissions, and the bits setuid, setgid and sticky.
	Mode fs.FileMode `json:"mode,omitempty"`
	// UID and GID are the owners, -1 where there are none.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Size is that of a file in bytes.
	Size int64 `json:"size,omitempty"`
	// Digest is that of a file's content, "" if it is not known, as for large files.
	Digest string `json:"digest,omitempty"`
	// Stamp tells one version of a file from another without reading it.
	Stamp Stamp `json:"stamp"`
	// Link is the text of a symlink.
	Link string `json:"link,omitempty"`
	// Attributes are the extended attributes of a file.
	Attributes map[string][]byte `json:"attributes,omitempty"`
	// Kept is where the copy of a file's content is, nil if there is none; NotKept says why not.
	Kept    *Copy  `json:"kept,omitempty"`
	NotKept string `json:"not_kept,omitempty"`
}

// Copy is where a content lies in the store.
type Copy struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
}

// Stamp identifies a version of a file or directory. The time of the last change of its metadata is left out, because
// moving changes it.
type Stamp struct {
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Modified int64  `json:"modified"`
}

// copyName is the name of a file with copies.
var copyName = regexp.MustCompile(`^([0-9]{8}\.data|[0-9]{8}-[A-Z0-9]{12}\.large|call-[A-Z0-9]{12}\.large|slot-[0-9]{1,2})$`)

// check refuses a record that this package would not write. What a place may be is judged when it is opened.
func (r *Record) check() error {
	switch {
	case r.Time.IsZero(), r.Tool == "", r.Token == "", len(r.Items) == 0, r.ID < 0:
		return errors.New("it is not complete")
	case r.Moved && len(r.Items) < 2:
		return errors.New("it moves something, and does not say where to")
	}
	for _, item := range r.Items {
		if item.Name == "" || item.Abs == "" {
			return errors.New("a place has no name")
		}
		for _, s := range []State{item.Before, item.After} {
			switch s.Kind {
			case Absent, File, Link, Dir, Other, Unknown:
			default:
				return fmt.Errorf("%q is no kind of file", s.Kind)
			}
			k := s.Kept
			if k != nil && (!copyName.MatchString(k.File) || k.Offset < 0 || s.Size < 0) || s.Mode&^modeBits != 0 {
				return errors.New("it was changed")
			}
		}
	}
	return nil
}

// modeBits are the bits of a mode that are kept.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// decode reads a record as it was written: one that is understood in part could put back something else.
func decode(data []byte) (*Record, error) {
	if err := strictjson.Check(data); err != nil {
		return nil, err
	}
	r := &Record{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// What says in one word what a record did to one of its items, and "" for what is only part of something else: the
// source of a move, directories that came and went.
func (r *Record) What(i int) string {
	item := &r.Items[i]
	before, after := item.Before.Kind, item.After.Kind
	switch {
	case r.Running:
		return "interrupted"
	case r.Moved && i == 0:
		return ""
	case r.Moved && i == 1:
		return "moved"
	case before == Dir || after == Dir:
		return ""
	case before == Absent:
		return "created"
	case after == Absent:
		return "deleted"
	}
	return "changed"
}

// Undone says of each record that is taken back by which other one. An undo that was itself taken back does not count,
// nor does one that was interrupted or failed.
func Undone(records []*Record) map[int]int {
	undone := map[int]int{}
	for _, r := range slices.Backward(records) {
		if r.Undoes != 0 && undone[r.ID] == 0 && undone[r.Undoes] == 0 && !r.Running && !r.Partial {
			undone[r.Undoes] = r.ID
		}
	}
	return undone
}
