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
	errObject      = errors.New("malformed object")
	errObjectSize  = errors.New("object too large")
	errNotInPack   = errors.New("not in this pack")
	errUnsupported = errors.New("pack format not known")
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
		gotKind, data, err = r.packedObject(id)
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

// objectError says why an object cannot be had.
func (r *repo) objectError(ctx context.Context, kind string, id oid, err error) error {
	name := r.algo.hex(id)
	if errors.Is(err, errNotInPack) {
		where := ""
		if info, err := lstat(r.fsys, wspath.JoinSlash(r.commonDir, "objects/info/alternates")); info != nil || err != nil {
			where = "; the repository borrows objects from another one"
		}
		return unknownf("%s %s is not in the repository%s", kind, name, where)
	}
	var u *unknownError
	if errors.As(err, &u) || ctx.Err() != nil {
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

// commitTree gives the tree of a commit.
func (r *repo) commitTree(ctx context.Context, commit oid) (oid, error) {
	data, err := r.object(ctx, commit, "commit")
	if err != nil {
		return oid{}, err
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	digits, ok := bytes.CutPrefix(line, []byte("tree "))
	if ok {
		if id, ok := r.algo.parse(digits); ok {
			return id, nil
		}
	}
	return oid{}, unknownf("commit %s is malformed", r.algo.hex(commit))
}
