package jptool

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/strictjson"
)

// Object is a JSON object whose values are not decoded yet.
type Object = strictjson.Object

// ParseObject reads one JSON object as strictly as a request is read; see [strictjson.ParseObject].
func ParseObject(data []byte) (Object, error) { return strictjson.ParseObject(data) }

// maxTypo is the number of edits up to which an unknown key counts as a misspelt known one.
const maxTypo = 2

// Decode reads a request. It is whole, `{"context": …, "tool": …}`, or a bare Context (it has `root` at the top level),
// for which the returned request has an empty tool and whole is false. Unknown keys are ignored and listed in Ignored,
// except inside access, and except for a key that is nearly a known one: a misspelt `access` would be a policy that
// nobody enforces. Errors carry CodeInvalidRequest, or CodeInvalidPolicy for what is wrong inside access.
func Decode(data []byte) (req *Request, whole bool, err error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, false, Errorf(CodeInvalidRequest, "the request cannot be read: %w", err)
	}
	req = &Request{}
	if _, bare := obj["root"]; bare {
		if _, both := obj["context"]; both {
			return nil, false, Errorf(CodeInvalidRequest, "the request has both `root` and `context` at the top level; send one of them")
		}
		return req, false, req.decodeContext(obj)
	}
	var parts struct {
		Context Object `json:"context" required:""`
		Tool    Object `json:"tool" required:""`
	}
	err = req.decode("", obj, &parts)
	if err == nil {
		err = req.decodeContext(parts.Context)
	}
	if err == nil {
		err = req.decode("tool.", parts.Tool, &req.Tool)
	}
	return req, true, err
}

// DecodeTool reads a bare tool object into the request.
func (r *Request) DecodeTool(data []byte) error {
	obj, err := ParseObject(data)
	if err != nil {
		return Errorf(CodeInvalidRequest, "the tool object cannot be read: %w", err)
	}
	return r.decode("tool.", obj, &r.Tool)
}

func (r *Request) decodeContext(obj Object) (err error) {
	c, access := &r.Context, obj["access"]
	delete(obj, "access") // its unknown keys are errors
	if err := r.decode("context.", obj, c); err != nil {
		return err
	}
	switch {
	case c.Root == "":
		return Errorf(CodeInvalidRequest, "context: `root` is empty; give the absolute path of the workspace")
	case strings.IndexByte(c.Root, 0) >= 0:
		return Errorf(CodeInvalidRequest, "context: `root` holds a NUL byte")
	case !filepath.IsAbs(c.Root):
		return Errorf(CodeInvalidRequest, "context: `root` is %q; give an absolute path", c.Root)
	case !strictjson.Absent(access):
		c.Access, err = DecodeAccess(access)
	}
	return err
}

// decode fills the struct that into points to, and notes the unknown keys of obj, each with prefix before it. It fails
// for a key that is nearly a known one: its author meant that one, and would not notice that it has no effect.
func (r *Request) decode(prefix string, obj Object, into any) error {
	d := strictjson.Decoder{Unknown: func(path, key string, known []string) error {
		if near := Misspelt(key, known); near != "" {
			return fmt.Errorf("unknown key %q; did you mean %q? The keys are %s", path, near, strings.Join(known, ", "))
		}
		r.Ignored = append(r.Ignored, prefix+path)
		return nil
	}}
	if err := d.Decode(obj, into); err != nil {
		return Errorf(CodeInvalidRequest, "%s: %w", cmp.Or(strings.TrimSuffix(prefix, "."), "the request"), err)
	}
	return nil
}

// Misspelt returns the known key that an unknown key of a request probably means, "" if
// it resembles none. docs/wire.md has the rule.
func Misspelt(unknown string, known []string) string { return nearest.Within(unknown, known, maxTypo) }

// DecodeAccess reads the `access` object of the wire. Unknown keys are errors: they
// would be restrictions that nobody enforces. Errors carry CodeInvalidPolicy.
func DecodeAccess(data []byte) (*AccessPolicy, error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "`access`: %w", err)
	}
	d := strictjson.Decoder{Unknown: func(path, _ string, known []string) error {
		list := strings.Join(known, ", ")
		return fmt.Errorf("unknown key %q: it would be a restriction that is not enforced; the keys are %s", path, list)
	}}
	a := &AccessPolicy{}
	if err := d.Decode(obj, a); err != nil {
		return nil, Errorf(CodeInvalidPolicy, "access: %w", err)
	}
	return a, nil
}
