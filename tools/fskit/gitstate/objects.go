package gitstate

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's object names
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// maxObject bounds a commit or tree; git's own trees stay far below.
const maxObject = 64 << 20

// oid is an object name; a SHA-1 leaves the rest zero.
type oid [sha256.Size]byte

// algo is the hash function of a repository.
type algo struct {
	size int
	new  func() hash.Hash
}

var (
	sha1Algo   = algo{sha1.Size, sha1.New}
	sha256Algo = algo{sha256.Size, sha256.New}
)

func (a algo) sum(h hash.Hash) (id oid) {
	h.Sum(id[:0])
	return id
}

// start begins the hash of an object of the given kind and size.
func (a algo) start(kind string, size int64) hash.Hash {
	h := a.new()
	fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

func (a algo) object(kind string, data []byte) oid {
	h := a.start(kind, int64(len(data)))
	h.Write(data)
	return a.sum(h)
}

// parse reads an object name in hexadecimal, as in refs and commits.
func (a algo) parse(s []byte) (id oid, ok bool) {
	if len(s) != 2*a.size {
		return oid{}, false
	}
	_, err := hex.Decode(id[:], s)
	return id, err == nil
}

func (a algo) hex(id oid) string { return hex.EncodeToString(id[:a.size]) }

var (
	errObject     = errors.New("malformed object, or in a format that is not known")
	errObjectSize = errors.New("object too large")
	errNotInPack  = errors.New("not in this pack")
)

// object reads a commit or tree, loose or packed. What it returns has the hash id; so a broken or forged
// store can hide an object but not change it.
func (r *repo) object(ctx context.Context, id oid, kind string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if id == r.algo.object(kind, nil) {
		return nil, nil // the empty tree exists without being stored
	}
	gotKind, data, err := r.looseObject(id)
	if notThere(err) {
		var p *pack
		var offset int64
		if p, offset, err = r.packOf(id); err == nil {
			gotKind, data, err = p.read(offset)
		}
	}
	name := r.algo.hex(id)
	switch {
	case err != nil:
		return nil, r.objectError(ctx, kind, id, err)
	case gotKind != kind:
		return nil, unknownf("%s is a %s, not a %s", name, gotKind, kind)
	case r.algo.object(kind, data) != id:
		return nil, unknownf("%s %s is damaged", kind, name)
	}
	return data, nil
}

// objectError says why an object cannot be had, if err says that it cannot.
func (r *repo) objectError(ctx context.Context, kind string, id oid, err error) error {
	name := r.algo.hex(id)
	var u *unknownError
	switch {
	case err == nil || errors.As(err, &u):
		return err
	case errors.Is(err, errObjectSize):
		return unknownf("%s %s is too large to be checked", kind, name)
	case errors.Is(err, errNotInPack):
		where := ""
		if info, err := lstat(r.fsys, wspath.JoinSlash(r.commonDir, "objects/info/alternates")); info != nil || err != nil {
			where = "; the repository borrows objects from another one"
		}
		return unknownf("%s %s is not in the repository%s", kind, name, where)
	case ctx.Err() != nil:
		return err
	}
	return &unknownError{text: fmt.Sprintf("%s %s cannot be read", kind, name), cause: err}
}

func (r *repo) loosePath(id oid) string {
	name := r.algo.hex(id)
	return wspath.JoinSlash(r.commonDir, "objects/"+name[:2]+"/"+name[2:])
}

func (r *repo) looseObject(id oid) (kind string, data []byte, err error) {
	f, _, err := openRegular(r.fsys, r.loosePath(id))
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	return readLoose(f)
}

// readLoose decodes a loose object: zlib over "kind size NUL data".
func readLoose(f io.Reader) (kind string, data []byte, err error) {
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", nil, err
	}
	defer z.Close()
	const header = 32
	data, err = io.ReadAll(io.LimitReader(z, maxObject+header+1))
	if err != nil {
		return "", nil, err
	}
	head, data, ok := bytes.Cut(data, []byte{0})
	if !ok || len(head) > header {
		return "", nil, errObject
	}
	kind, digits, _ := strings.Cut(string(head), " ")
	size, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case err != nil:
		return "", nil, errObject
	case size > maxObject:
		return "", nil, errObjectSize
	case size != uint64(len(data)):
		return "", nil, errObject
	}
	return kind, data, nil
}

// treeEntry is one line of a tree.
type treeEntry struct {
	name string
	mode uint32
	id   oid
}

func (e *treeEntry) isTree() bool { return e.mode == modeTree }

// parseTree returns the entries of a tree in their order.
func parseTree(data []byte, a algo) ([]treeEntry, error) {
	var all []treeEntry
	for len(data) > 0 {
		digits, rest, _ := bytes.Cut(data, []byte{' '})
		mode, err := strconv.ParseUint(string(digits), 8, 32)
		if err != nil || len(digits) > 7 {
			return nil, errObject
		}
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !ended || len(name) == 0 || len(rest) < a.size || bytes.IndexByte(name, '/') >= 0 {
			return nil, errObject
		}
		e := treeEntry{name: string(name), mode: canonMode(uint32(mode))}
		data = rest[copy(e.id[:a.size], rest):]
		all = append(all, e)
	}
	return all, nil
}

// canonMode folds the modes of old trees (100664) into those that the index has.
func canonMode(m uint32) uint32 {
	switch {
	case m&modeType == modeSymlink:
		return modeSymlink
	case m&modeType == modeTree:
		return modeTree
	case m&modeType != 0o100000:
		return modeGitlink
	case m&0o100 != 0:
		return modeExec
	default:
		return modeFile
	}
}

// tree reads a whole tree.
func (r *repo) tree(ctx context.Context, id oid) ([]treeEntry, error) {
	data, err := r.object(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	all, err := parseTree(data, r.algo)
	if err != nil {
		return nil, unknownf("tree %s is malformed", r.algo.hex(id))
	}
	return all, nil
}

// headEntry looks a path up in HEAD's tree, "" being the tree itself; nil if HEAD does not have it.
func (r *repo) headEntry(ctx context.Context, sub string) (*treeEntry, error) {
	commit, ok, err := r.head()
	if err != nil || !ok {
		return nil, err
	}
	data, err := r.object(ctx, commit, "commit")
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	digits, isTree := bytes.CutPrefix(line, []byte("tree "))
	id, valid := r.algo.parse(digits)
	if !isTree || !valid {
		return nil, unknownf("commit %s is malformed", r.algo.hex(commit))
	}
	entry := &treeEntry{mode: modeTree, id: id}
	for rest := sub; rest != ""; {
		if !entry.isTree() {
			return nil, nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		entries, err := r.tree(ctx, entry.id)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name })
		if i < 0 {
			return nil, nil
		}
		entry = &entries[i]
	}
	return entry, nil
}

// stored makes sure that the object store can give a blob back, by reading all of it: an entry of the index is
// only a promise.
func (r *repo) stored(ctx context.Context, id oid) error {
	if id == r.algo.object("blob", nil) {
		return nil // nothing is lost with an empty file
	}
	err := r.storedLoose(ctx, id)
	if notThere(err) {
		err = r.storedPacked(ctx, id)
	}
	return r.objectError(ctx, "blob", id, err)
}

// listed makes sure that the object store has an entry for a blob, without reading it: to do that for each file
// of a directory would take many times as long as comparing the files.
func (r *repo) listed(id oid) error {
	if id == r.algo.object("blob", nil) {
		return nil
	}
	_, _, err := r.packOf(id)
	if errors.Is(err, errNotInPack) {
		info, lstatErr := lstat(r.fsys, r.loosePath(id))
		switch {
		case lstatErr != nil:
			return lstatErr
		case info != nil && info.Mode().IsRegular() && info.Size() > 0:
			err = nil
		}
	}
	return r.objectError(context.Background(), "blob", id, err)
}

func (r *repo) storedLoose(ctx context.Context, id oid) error {
	f, _, err := openRegular(r.fsys, r.loosePath(id))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return err
	}
	defer z.Close()
	// What is stored is what is hashed, with its header.
	h := r.algo.new()
	if _, err := io.Copy(h, ctxReader{ctx, z}); err != nil {
		return err
	}
	if r.algo.sum(h) != id {
		return errObject
	}
	return nil
}

func (r *repo) storedPacked(ctx context.Context, id oid) error {
	p, offset, err := r.packOf(id)
	if err != nil {
		return err
	}
	whole, z, err := p.inflate(offset)
	if err != nil {
		return err
	}
	defer z.Close()
	if packKinds[whole.kind] == "blob" { // of any size
		h := r.algo.start("blob", int64(whole.size))
		if _, err := io.Copy(h, ctxReader{ctx, io.LimitReader(z, int64(whole.size)+1)}); err != nil {
			return err
		}
		if r.algo.sum(h) != id {
			return errObject
		}
		return nil
	}
	kind, data, err := p.read(offset)
	if err != nil {
		return err
	}
	if r.algo.object(kind, data) != id {
		return errObject
	}
	return nil
}

// ctxReader ends with the context.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
