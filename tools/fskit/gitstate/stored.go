package gitstate

import (
	"compress/zlib"
	"context"
	"errors"
	"io"
)

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
	return r.blobError(ctx, id, err)
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
	return r.blobError(context.Background(), id, err)
}

func (r *repo) blobError(ctx context.Context, id oid, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errObjectSize):
		return unknownf("blob %s is too large to be checked", r.algo.hex(id))
	}
	return r.objectError(ctx, "blob", id, err)
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
