package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
)

// file is one JSON file of consent.
type file struct {
	dir  *state.Dir
	name string
	warn func(string)
}

// brokenError: the file is there but cannot be used.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

// read returns the content, nil when there is none. Failures of the machine (I/O, no
// descriptors left) are plain errors: they say nothing about the file, and
// moving it away would lose what was consented to.
func (f *file) read() ([]byte, error) {
	data, err := f.dir.Read(f.name)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), errors.Is(err, state.ErrTooLarge):
		return nil, &brokenError{wspath.Bare(err)}
	}
	return nil, fmt.Errorf("reading %s: %w", f.dir.File(f.name), wspath.Bare(err))
}

// load parses the content with parse, which gets nil when there is none. A broken file is
// set aside, with a warning, and parse called again with nil.
func (f *file) load(ctx context.Context, parse func([]byte) error) error {
	err := f.parse(parse)
	if !isBroken(err) {
		return err
	}
	return f.dir.Locked(ctx, f.name, func() error { return f.loadLocked(parse) })
}

// loadLocked is load for who holds the lock.
func (f *file) loadLocked(parse func([]byte) error) error {
	err := f.parse(parse)
	if !isBroken(err) {
		return err
	}
	to, aside := f.dir.SetAside(f.name)
	if aside != nil {
		return fmt.Errorf("%s cannot be used (%w) and not be set aside: %w\nmove it away", f.dir.File(f.name), err, aside)
	}
	if f.warn != nil {
		f.warn(fmt.Sprintf("%s cannot be used: %v\nit was set aside as %s; what it held must be approved again", f.dir.File(f.name), err, to))
	}
	return parse(nil)
}

func (f *file) parse(parse func([]byte) error) error {
	data, err := f.read()
	if err != nil {
		return err
	}
	if err := parse(data); err != nil {
		return &brokenError{err}
	}
	return nil
}

func isBroken(err error) bool {
	var broken *brokenError
	return errors.As(err, &broken)
}

// save writes v, indented for people who look.
func (f *file) save(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return f.dir.Write(f.name, b.Bytes())
}

// object is a JSON object with its keys in order, so that what we do not know is
// written back as it was.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// UnmarshalJSON refuses duplicate keys: which of the two counts would depend on the reader.
func (o *object) UnmarshalJSON(data []byte) error {
	*o = nil
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("an object is expected")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		if o.get(m.key) != nil {
			return fmt.Errorf("the key %q is there twice", m.key)
		}
		*o = append(*o, m)
	}
	return nil
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
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
		if !slices.Contains(must, m.key) && !slices.Contains(may, m.key) {
			return fmt.Errorf("the key %q is not known", m.key)
		}
	}
	return nil
}

func (o *object) set(key string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = b.Bytes()
			return nil
		}
	}
	*o = append(*o, member{key, b.Bytes()})
	return nil
}

// decodeStrict decodes one JSON value with nothing after it.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}
