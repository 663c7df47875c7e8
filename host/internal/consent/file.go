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

// file is one JSON file of consent: an object that holds a list of records under one key.
// Other keys of the object are kept as they are.
type file[T any] struct {
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
func (f *file[T]) setAside(warn func(string)) func(*brokenError) error {
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

// load returns the records.
func (f *file[T]) load(ctx context.Context) (list []T, err error) {
	var broken *brokenError
	if _, list, err = f.read(); f.mend == nil || !errors.As(err, &broken) {
		return list, err
	}
	err = f.dir.Locked(ctx, f.name, func() error {
		_, list, err = f.readLocked()
		return err
	})
	return list, err
}

// update is a load-modify-save under the lock. Nothing is written if change reports no change.
func (f *file[T]) update(ctx context.Context, change func([]T) (list []T, changed bool)) error {
	return f.dir.Locked(ctx, f.name, func() error {
		doc, list, err := f.readLocked()
		if err != nil {
			return err
		}
		list, changed := change(list)
		if !changed {
			return nil
		}
		if err := doc.set(f.key, append([]T{}, list...)); err != nil { // [], not null
			return err
		}
		var b bytes.Buffer
		if err := encode(&b, doc, "  "); err != nil {
			return err
		}
		return f.dir.Write(f.name, b.Bytes())
	})
}

// remove takes out the records that a function names, and returns them.
func (f *file[T]) remove(ctx context.Context, which func(T) bool) (removed []T, err error) {
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

// readLocked is read for a caller that has locked the file, so that it may mend a file that cannot be used.
func (f *file[T]) readLocked() (object, []T, error) {
	doc, list, err := f.read()
	var broken *brokenError
	if f.mend != nil && errors.As(err, &broken) {
		return nil, nil, f.mend(broken)
	}
	return doc, list, err
}

// read returns the content, nothing when there is no file. A failure of the machine (I/O, no
// descriptors left) is a plain error: it says nothing about the file, and to move the file
// away would lose what was consented to.
func (f *file[T]) read() (doc object, list []T, err error) {
	path := f.dir.File(f.name)
	data, err := f.dir.Read(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err == nil:
		doc, list, err = f.parse(data)
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

func (f *file[T]) parse(data []byte) (doc object, list []T, err error) {
	if err := decodeStrict(data, &doc); err != nil {
		return nil, nil, err
	}
	if f.only {
		if err := doc.only([]string{f.key}, nil); err != nil {
			return nil, nil, err
		}
	}
	raw := doc.get(f.key)
	if raw == nil {
		return doc, nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.key, err)
	}
	list = make([]T, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &list[i]); err != nil {
			return nil, nil, fmt.Errorf("%s[%d]: %w", f.key, i, err)
		}
	}
	return doc, list, nil
}

// encode writes v as it is read again, without escapes for HTML.
func encode(b *bytes.Buffer, v any, indent string) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// object is a JSON object with its keys in order, so that what we do not know is
// written back as it was.
type object []strictjson.Member

// UnmarshalJSON refuses duplicate keys: which of the two counts would depend on the reader.
func (o *object) UnmarshalJSON(data []byte) error {
	list, err := strictjson.ParseMembers(bytes.Clone(data))
	*o = list
	return err
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// only is an error unless every key is one of these and all that must be there are.
func (o object) only(must, may []string) error {
	for _, key := range must {
		if value := o.get(key); value == nil || string(value) == "null" {
			return fmt.Errorf("the key %q is missing", key)
		}
	}
	for _, m := range o {
		if !slices.Contains(must, m.Key) && !slices.Contains(may, m.Key) {
			return fmt.Errorf("the key %q is not known", m.Key)
		}
	}
	return nil
}

func (o *object) set(key string, v any) error {
	var b bytes.Buffer
	if err := encode(&b, v, ""); err != nil {
		return err
	}
	for i := range *o {
		if (*o)[i].Key == key {
			(*o)[i].Value = b.Bytes()
			return nil
		}
	}
	*o = append(*o, strictjson.Member{Key: key, Value: b.Bytes()})
	return nil
}

// decodeStrict decodes one JSON value with nothing after it, and no key twice.
func decodeStrict(data []byte, v any) error {
	if err := strictjson.Check(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
