package jptool

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
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

// DecodeRequest reads the two-part request `{"context": …, "tool": …}`. Unknown keys
// are ignored and listed in Ignored, except inside access, and except for a key that is
// nearly a known one: a misspelt `access` would be a policy that nobody enforces. Errors
// carry CodeInvalidRequest, or CodeInvalidPolicy for what is wrong inside access.
func DecodeRequest(data []byte) (*Request, error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "the request is not one JSON object: %w", err)
	}
	return decodeRequest(obj)
}

func decodeRequest(obj Object) (*Request, error) {
	d := decoder{obj: obj, where: "the request", code: CodeInvalidRequest}
	ignored := d.ignored("", "context", "tool")
	if d.err != nil {
		return nil, d.err
	}
	rawCtx, ok := obj["context"]
	if !ok || strictjson.IsNull(rawCtx) {
		return nil, Errorf(CodeInvalidRequest, "the request has no `context` object")
	}
	ctxObj, err := ParseObject(rawCtx)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "`context`: %w", err)
	}
	ctx, err := decodeContext(ctxObj)
	if err != nil {
		return nil, err
	}
	rawTool, ok := obj["tool"]
	if !ok || strictjson.IsNull(rawTool) {
		return nil, Errorf(CodeInvalidRequest, "the request has no `tool` object")
	}
	toolObj, err := ParseObject(rawTool)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "`tool`: %w", err)
	}
	tool, err := decodeTool(toolObj)
	if err != nil {
		return nil, err
	}
	return &Request{Context: *ctx, Tool: *tool, Ignored: ignored}, nil
}

// DecodeContext reads a bare Context object.
func DecodeContext(data []byte) (*Context, error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "the context is not one JSON object: %w", err)
	}
	return decodeContext(obj)
}

// DecodeCall reads a bare tool object.
func DecodeCall(data []byte) (*Call, error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "the tool object is not one JSON object: %w", err)
	}
	return decodeTool(obj)
}

// Decode reads either form: a whole request, or a bare Context (it has `root` at
// the top level), for which the returned request has an empty tool and whole is false.
func Decode(data []byte) (req *Request, whole bool, err error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, false, Errorf(CodeInvalidRequest, "the request is not one JSON object: %w", err)
	}
	if _, bare := obj["root"]; bare {
		if _, both := obj["context"]; both {
			return nil, false, Errorf(CodeInvalidRequest, "the request has both `root` and `context` at the top level; send one of them")
		}
		ctx, err := decodeContext(obj)
		if err != nil {
			return nil, false, err
		}
		return &Request{Context: *ctx}, false, nil
	}
	req, err = decodeRequest(obj)
	return req, true, err
}

func decodeContext(obj Object) (*Context, error) {
	d := decoder{obj: obj, where: "context", code: CodeInvalidRequest}
	c := &Context{
		Ignored:        d.ignored("context.", "root", "action", "access", "workspace_id", "conversation_id"),
		Root:           d.str("root", true),
		Action:         Action(d.str("action", true)),
		WorkspaceID:    d.str("workspace_id", false),
		ConversationID: d.str("conversation_id", false),
	}
	if d.err != nil {
		return nil, d.err
	}
	switch {
	case c.Root == "":
		return nil, Errorf(CodeInvalidRequest, "context: `root` is empty; give the absolute path of the workspace")
	case strings.IndexByte(c.Root, 0) >= 0:
		return nil, Errorf(CodeInvalidRequest, "context: `root` holds a NUL byte")
	case !filepath.IsAbs(c.Root):
		return nil, Errorf(CodeInvalidRequest, "context: `root` is %q; give an absolute path", c.Root)
	case c.Action != Run && c.Action != FormatArguments:
		return nil, Errorf(CodeInvalidRequest, "context: `action` is %q; want %q or %q", c.Action, Run, FormatArguments)
	}
	if raw, ok := obj["access"]; ok && !strictjson.IsNull(raw) {
		access, err := DecodeAccess(raw)
		if err != nil {
			return nil, err
		}
		c.Access = access
	}
	return c, nil
}

func decodeTool(obj Object) (*Call, error) {
	d := decoder{obj: obj, where: "tool", code: CodeInvalidRequest}
	t := &Call{
		Ignored:   d.ignored("tool.", "name", "arguments", "answers", "options"),
		Name:      d.str("name", false),
		Arguments: d.object("arguments"),
		Answers:   d.object("answers"),
		Options:   d.object("options"),
	}
	return t, d.err
}

// DecodeAccess reads the `access` object of the wire. Unknown keys are errors: they
// would be restrictions that nobody enforces. Errors carry CodeInvalidPolicy.
func DecodeAccess(data []byte) (*AccessPolicy, error) {
	obj, err := ParseObject(data)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "`access`: %w", err)
	}
	d := decoder{obj: obj, where: "access", code: CodeInvalidPolicy}
	d.known("fs", "net", "env", "commands", "pinned", "staged")
	a := &AccessPolicy{}
	d.each("fs", func(d *decoder) { a.FS = append(a.FS, d.fsRule()) })
	d.each("net", func(d *decoder) {
		d.known("host", "scheme", "port", "path_prefix", "allow")
		r := NetRule{Host: d.str("host", true), Scheme: d.optStr("scheme"), PathPrefix: d.optStr("path_prefix")}
		if port := d.integer("port", 0, 65535); port != nil {
			r.Port = new(uint16(*port))
		}
		r.Allow = d.flag("allow")
		a.Net = append(a.Net, r)
	})
	d.each("env", func(d *decoder) {
		d.known("name", "read")
		a.Env = append(a.Env, EnvRule{Name: d.str("name", true), Read: d.flag("read")})
	})
	a.Commands = d.commands()
	a.Pinned = d.strings("pinned")
	d.each("staged", func(d *decoder) {
		d.known("path", "fd")
		s := StagedFile{Path: d.str("path", true)}
		if fd := d.integer("fd", 3, 1<<20); fd != nil {
			s.FD = int(*fd)
		} else if d.err == nil {
			d.fail("`fd` is missing")
		}
		a.Staged = append(a.Staged, s)
	})
	if d.err != nil {
		return nil, d.err
	}
	return a, nil
}

// decoder reads typed members of one object and keeps the first error. Every error
// says where in the request the value stands.
type decoder struct {
	obj   Object
	where string
	code  Code
	err   error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = Errorf(d.code, "%s: %s", d.where, fmt.Sprintf(format, args...))
	}
}

// unknown lists the keys of the object that are not in keys, sorted.
func (d *decoder) unknown(keys []string) []string {
	var unknown []string
	for k := range d.obj {
		if !slices.Contains(keys, k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// known fails for the first key, in order, that is not in keys.
func (d *decoder) known(keys ...string) {
	if unknown := d.unknown(keys); len(unknown) > 0 {
		d.fail("unknown key %q: it would be a restriction that is not enforced; the keys are %s", unknown[0], strings.Join(keys, ", "))
	}
}

// ignored lists the keys that are not in keys, each with prefix before it. It fails for a key that is nearly
// a known one: its author meant that one, and would not notice that it has no effect.
func (d *decoder) ignored(prefix string, keys ...string) []string {
	var list []string
	for _, k := range d.unknown(keys) {
		if near := Misspelt(k, keys); near != "" {
			d.fail("unknown key %q; did you mean %q? The keys are %s", k, near, strings.Join(keys, ", "))
		}
		list = append(list, prefix+k)
	}
	return list
}

// Misspelt returns the known key that an unknown key of a request probably means, "" if
// it resembles none. docs/wire.md has the rule.
func Misspelt(unknown string, known []string) string { return nearest.Within(unknown, known, maxTypo) }

func (d *decoder) raw(key string) (json.RawMessage, bool) {
	raw, ok := d.obj[key]
	return raw, ok && !strictjson.IsNull(raw) && d.err == nil
}

// optionalMember returns the value of a key; nil if it is absent or null, or if d has failed.
func optionalMember[T any](d *decoder, key, want string) *T {
	raw, ok := d.raw(key)
	if !ok {
		return nil
	}
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		d.fail("`%s` must be %s, got %s", key, want, strictjson.KindOf(raw))
		return nil
	}
	return value
}

func (d *decoder) str(key string, required bool) string {
	s := d.optStr(key)
	if s == nil {
		if required {
			d.fail("`%s` is missing", key)
		}
		return ""
	}
	return *s
}

func (d *decoder) optStr(key string) *string { return optionalMember[string](d, key, "a string") }

func (d *decoder) boolean(key string) *bool { return optionalMember[bool](d, key, "a boolean") }

// flag is boolean for a key that is false when it is absent.
func (d *decoder) flag(key string) bool {
	b := d.boolean(key)
	return b != nil && *b
}

func (d *decoder) integer(key string, low, high int64) *int64 {
	f := optionalMember[float64](d, key, "an integer") // 443.0 is an integer too
	if f == nil {
		return nil
	}
	if *f != math.Trunc(*f) || *f < float64(low) || *f > float64(high) {
		d.fail("`%s` is %s; want an integer from %d to %d", key, d.obj[key], low, high)
		return nil
	}
	return new(int64(*f))
}

func (d *decoder) object(key string) Object {
	raw, ok := d.raw(key)
	if !ok {
		return Object{}
	}
	obj, err := ParseObject(raw)
	if err != nil {
		d.fail("`%s`: %s", key, err)
	}
	return obj
}

func (d *decoder) array(key string) []json.RawMessage {
	raw, ok := d.raw(key)
	if !ok {
		return nil
	}
	items, err := strictjson.ParseArray(raw)
	if err != nil {
		d.fail("`%s`: %s", key, err)
	}
	return items
}

// each calls f with a decoder for every object of the array at key.
func (d *decoder) each(key string, f func(*decoder)) {
	for i, raw := range d.array(key) {
		d.nested(fmt.Sprintf("%s[%d]", key, i), raw, f)
	}
}

// nested calls f with a decoder for an object that stands at a place of this one, and keeps its error.
func (d *decoder) nested(place string, raw []byte, f func(*decoder)) {
	obj, err := ParseObject(raw)
	sub := decoder{obj: obj, where: d.where + "." + place, code: d.code}
	if err != nil {
		sub.fail("%s", err)
	} else {
		f(&sub)
	}
	if d.err == nil {
		d.err = sub.err
	}
}

func (d *decoder) strings(key string) []string {
	if _, ok := d.raw(key); !ok {
		return nil
	}
	list := []string{} // present and empty is not absent
	for i, raw := range d.array(key) {
		var s string
		if strictjson.IsNull(raw) || json.Unmarshal(raw, &s) != nil {
			d.fail("`%s[%d]` must be a string, got %s", key, i, strictjson.KindOf(raw))
			return nil
		}
		list = append(list, s)
	}
	return list
}

func (d *decoder) fsRule() FsRule {
	d.known("lexical_path", "path", "external", "approved_target", "read", "write", "create", "update", "delete", "execute")
	lexical, path := d.optStr("lexical_path"), d.optStr("path")
	r := FsRule{ApprovedTarget: d.optStr("approved_target")}
	switch {
	case lexical != nil && path != nil && *lexical != *path:
		d.fail("`lexical_path` is %q and `path` is %q; give one of them", *lexical, *path)
	case lexical != nil:
		r.Path = *lexical
	case path != nil:
		r.Path = *path
	default:
		d.fail("`lexical_path` is missing")
	}
	r.External = d.flag("external")
	r.Read, r.Write, r.Create = d.boolean("read"), d.boolean("write"), d.boolean("create")
	r.Update, r.Delete, r.Execute = d.boolean("update"), d.boolean("delete"), d.boolean("execute")
	return r
}

// commands keeps the difference between absent (nil: unrestricted) and an empty
// object (nothing may be started), and likewise for `args`.
func (d *decoder) commands() map[string]CommandRule {
	if _, ok := d.raw("commands"); !ok {
		return nil
	}
	rules := map[string]CommandRule{}
	for name, raw := range d.object("commands") {
		d.nested("commands."+name, raw, func(d *decoder) { rules[name] = d.commandRule() })
	}
	return rules
}

func (d *decoder) commandRule() CommandRule {
	d.known("args", "envs")
	rule := CommandRule{Envs: d.strings("envs")}
	if _, ok := d.raw("args"); !ok {
		return rule
	}
	rule.Args = [][]string{}
	for i, item := range d.array("args") {
		line := decoder{obj: Object{"args": item}, where: fmt.Sprintf("%s.args[%d]", d.where, i), code: d.code}
		if strictjson.IsNull(item) {
			line.fail("must be an array of strings, got null")
		}
		rule.Args = append(rule.Args, line.strings("args"))
		if d.err == nil {
			d.err = line.err
		}
	}
	return rule
}
