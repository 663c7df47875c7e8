package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/jptool/wspath"
)

// records is one JSON file of consent: an object that holds a list of T under one key.
// Other keys of the object are kept as they are, in their order.
type records[T any] struct {
	dir  *state.Dir
	name string // of the file
	key  string // of the list
	// only refuses an object with other keys than the list's, or without it.
	only bool
	// help says what to do about a file that cannot be used.
	help string
	// mend lets a file that cannot be used count as empty, if it returns nil. It is called
	// with the lock held. Without it, such a file is an error.
	mend func(*brokenError) error
	// take checks and completes a record that was read from data; it may be nil.
	take func(record *T, data []byte) error
	// unknown is told the keys of a record that T does not have. Without it they are errors: a
	// record that is understood in part could allow more than it should, or hold less.
	unknown func(record *T, key string)
}

// brokenError: the file is there but cannot be used.
type brokenError struct {
	err        error
	file, help string
}

func (e *brokenError) Error() string {
	return fmt.Sprintf("%s cannot be used: %v\n%s", e.file, e.err, e.help)
}

// setAside renames a broken file and warns of it.
func (f *records[T]) setAside(warn func(string)) func(*brokenError) error {
	return func(broken *brokenError) error {
		to, err := f.dir.SetAside(f.name)
		if err != nil {
			return fmt.Errorf("%s cannot be used (%w), and cannot be set aside: %w\nmove it away",
				broken.file, broken.err, err)
		}
		if warn != nil {
			warn(fmt.Sprintf("%s cannot be used: %v\nit was set aside as %s; what it held must be approved again",
				broken.file, broken.err, to))
		}
		return nil
	}
}

// load returns the records. A broken file is mended.
func (f *records[T]) load(ctx context.Context) (list []T, err error) {
	var broken *brokenError
	if _, list, err = f.read(); f.mend == nil || !errors.As(err, &broken) {
		return list, err
	}
	err = f.update(ctx, func(now []T) ([]T, bool) {
		list = now
		return nil, false
	})
	return list, err
}

// update is a load-modify-save under the lock. Nothing is written if change reports no change.
func (f *records[T]) update(ctx context.Context, change func([]T) (list []T, changed bool)) error {
	return f.dir.Locked(ctx, f.name, func() error {
		doc, list, err := f.read()
		if broken := (*brokenError)(nil); f.mend != nil && errors.As(err, &broken) {
			err = f.mend(broken)
		}
		if err != nil {
			return err
		}
		list, changed := change(list)
		if !changed {
			return nil
		}
		data, err := f.encode(doc, list)
		if err != nil {
			return err
		}
		return f.dir.Write(f.name, data)
	})
}

// remove takes out the records that a function names, and returns them.
func (f *records[T]) remove(ctx context.Context, which func(T) bool) (removed []T, err error) {
	err = f.update(ctx, func(list []T) (keep []T, changed bool) {
		for _, record := range list {
			if which(record) {
				removed = append(removed, record)
			} else {
				keep = append(keep, record)
			}
		}
		return keep, len(removed) > 0
	})
	return removed, err
}

// read returns the content, nothing when there is no file. A failure of the machine (I/O, no
// descriptors left) is a plain error: it says nothing about the file, and to move the file
// away would lose what was consented to.
func (f *records[T]) read() (doc []strictjson.Member, list []T, err error) {
	path := f.dir.File(f.name)
	data, err := f.dir.Read(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err == nil:
		doc, list, err = f.decode(data)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), errors.Is(err, state.ErrTooLarge):
		err = wspath.Bare(err)
	default:
		return nil, nil, fmt.Errorf("reading %s: %w", path, wspath.Bare(err))
	}
	if err != nil {
		return nil, nil, &brokenError{err, path, f.help}
	}
	return doc, list, nil
}

func (f *records[T]) decode(data []byte) (doc []strictjson.Member, list []T, err error) {
	if doc, err = strictjson.ParseMembers(data); err != nil { // no key is there twice, nor anything after the end
		return nil, nil, err
	}
	at := slices.IndexFunc(doc, func(m strictjson.Member) bool { return m.Key == f.key })
	if f.only && (at < 0 || len(doc) > 1 || strictjson.Absent(doc[at].Value)) {
		return nil, nil, fmt.Errorf("its one key must be %q", f.key)
	}
	if at < 0 {
		return doc, nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(doc[at].Value, &items); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.key, err)
	}
	list = make([]T, len(items))
	for i, item := range items {
		if err := f.record(item, &list[i]); err != nil {
			return nil, nil, fmt.Errorf("%s[%d]: %w", f.key, i, err)
		}
	}
	return doc, list, nil
}

// record reads one record. encoding/json would take a key in other letters for the same.
func (f *records[T]) record(data []byte, into *T) error {
	entry, err := strictjson.ParseObject(data)
	if err != nil {
		return err
	}
	d := strictjson.Decoder{Unknown: func(path, key string, _ []string) error {
		if f.unknown == nil || path != key {
			return fmt.Errorf("the key %q is not known", path)
		}
		f.unknown(into, key)
		return nil
	}}
	if err := d.Decode(entry, into); err != nil || f.take == nil {
		return err
	}
	return f.take(into, data)
}

// encode writes the list in the place that it has among the other keys.
func (f *records[T]) encode(doc []strictjson.Member, list []T) ([]byte, error) {
	value, err := strictjson.Marshal(append([]T{}, list...), "") // [], not null
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(doc, func(m strictjson.Member) bool { return m.Key == f.key })
	if at < 0 {
		at, doc = len(doc), append(doc, strictjson.Member{Key: f.key})
	}
	doc[at].Value = value
	text := []byte("{")
	for i, m := range doc {
		key, err := strictjson.Marshal(m.Key, "")
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = slices.Concat(text, key, []byte(":"), m.Value)
	}
	var b bytes.Buffer
	err = json.Indent(&b, append(text, "}\n"...), "", "  ")
	return b.Bytes(), err
}
