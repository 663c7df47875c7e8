package gitstate

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"sort"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

const (
	maxPacks = 400 // each keeps two files open
	// What one object may need: deltas (git writes chains up to 4095), memory for them, and the work of
	// applying them, counted in bytes of all intermediate results.
	maxChain     = 4096
	maxDeltas    = 2 * maxObject
	maxDeltaWork = 16 * maxObject
)

// Kinds of entries in a pack: whole objects, and two ways to name a delta's base.
const (
	packOfsDelta = 6
	packRefDelta = 7
)

var packKinds = [8]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

// pack is one pack with its index (format 2).
type pack struct {
	name  string // without extension
	algo  algo
	idx   io.ReaderAt
	count uint32
	fan   [256]uint32
	data  io.ReaderAt
	size  int64 // of data, without the trailing checksum

	files []io.Closer
}

func (p *pack) close() {
	for _, f := range p.files {
		f.Close()
	}
}

// open opens one of the pack's two files.
func (p *pack) open(fsys FS, extension string) (File, int64, error) {
	f, size, err := openRegular(fsys, p.name+extension)
	if err != nil {
		return nil, 0, unreadable(p.name+extension, err)
	}
	p.files = append(p.files, f)
	return f, size, nil
}

// packOf looks through all packs for an object, and opens the one that has it.
func (r *repo) packOf(id oid) (*pack, int64, error) {
	if err := r.listPacks(); err != nil {
		return nil, 0, err
	}
	for _, p := range r.packs {
		if p.idx == nil {
			f, size, err := p.open(r.fsys, ".idx")
			if err == nil {
				err = p.openIndex(f, size)
			}
			if err != nil {
				return nil, 0, err
			}
		}
		offset, err := p.find(id)
		if errors.Is(err, errNotInPack) {
			continue
		}
		if err == nil && p.data == nil {
			p.data, p.size, err = p.open(r.fsys, ".pack")
			p.size -= int64(p.algo.size) // the trailing checksum
		}
		return p, offset, err
	}
	return nil, 0, errNotInPack
}

func (r *repo) listPacks() error {
	if r.packsListed {
		return nil
	}
	dir := wspath.JoinSlash(r.commonDir, "objects/pack")
	entries, err := r.fsys.ReadDir(dir)
	if err != nil && !notThere(err) {
		return unreadable(dir, err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok && strings.HasPrefix(name, "pack-") {
			r.packs = append(r.packs, &pack{name: wspath.JoinSlash(dir, name), algo: r.algo})
		}
	}
	if len(r.packs) > maxPacks {
		r.packs = nil
		return unknownf("the repository has more than %d packs", maxPacks)
	}
	r.packsListed = true
	return nil
}

const packFan = 8 // where the fan-out table starts

// openIndex reads the fan-out table and checks that the file is long enough for what it announces.
func (p *pack) openIndex(f io.ReaderAt, size int64) error {
	var head [packFan + 4*256]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return err
	}
	if string(head[:4]) != "\xfftOc" || binary.BigEndian.Uint32(head[4:]) != 2 {
		return errObject
	}
	last := uint32(0)
	for i := range p.fan {
		n := binary.BigEndian.Uint32(head[packFan+4*i:])
		if n < last {
			return errObject
		}
		p.fan[i], last = n, n
	}
	p.count = last
	if size < int64(len(head))+int64(p.count)*int64(p.algo.size+8)+2*int64(p.algo.size) {
		return errObject
	}
	p.idx = f
	return nil
}

// find gives the offset of an object in the pack.
func (p *pack) find(id oid) (int64, error) {
	const table = packFan + 4*256
	h := int64(p.algo.size)
	lo, hi := uint32(0), p.fan[id[0]]
	if id[0] > 0 {
		lo = p.fan[id[0]-1]
	}
	var got oid
	var failed error
	found, ok := sort.Find(int(hi-lo), func(i int) int {
		if _, err := p.idx.ReadAt(got[:h], table+(int64(lo)+int64(i))*h); err != nil {
			failed = err
		}
		return bytes.Compare(id[:h], got[:h])
	})
	if failed != nil {
		return 0, failed
	}
	if !ok {
		return 0, errNotInPack
	}
	n := int64(lo) + int64(found)

	offsets := table + int64(p.count)*(h+4) // behind the names and the checksums
	var b [8]byte
	if _, err := p.idx.ReadAt(b[:4], offsets+n*4); err != nil {
		return 0, err
	}
	offset := binary.BigEndian.Uint32(b[:4])
	if offset&(1<<31) == 0 {
		return int64(offset), nil
	}
	large := offsets + int64(p.count)*4 + int64(offset&^(1<<31))*8
	if _, err := p.idx.ReadAt(b[:], large); err != nil {
		return 0, err
	}
	far := binary.BigEndian.Uint64(b[:])
	if far > 1<<62 {
		return 0, errObject
	}
	return int64(far), nil
}

// read decodes the object at offset, following deltas down to a whole object and applying them on the way
// back. Bases are looked for in the same pack, as git guarantees for packs on disk.
func (p *pack) read(offset int64) (kind string, data []byte, err error) {
	var deltas [][]byte
	total := 0
	for range maxChain {
		e, err := p.entry(offset)
		if err != nil {
			return "", nil, err
		}
		switch e.kind {
		case packOfsDelta:
			offset -= e.back
		case packRefDelta:
			if offset, err = p.find(e.base); err != nil {
				return "", nil, errObject
			}
		default:
			kind, data = packKinds[e.kind], e.data
			work := 0
			for i := len(deltas) - 1; i >= 0; i-- {
				if data, err = applyDelta(data, deltas[i]); err != nil {
					return "", nil, err
				}
				if work += len(data); work > maxDeltaWork {
					return "", nil, errObjectSize
				}
			}
			return kind, data, nil
		}
		deltas = append(deltas, e.data)
		if total += len(e.data); total > maxDeltas {
			return "", nil, errObjectSize
		}
	}
	return "", nil, errObject // too long, or a circle
}

type packEntry struct {
	kind int
	size uint64 // of data
	back int64  // how far before this entry its base is
	base oid
	data []byte
}

// entry inflates one entry without resolving it.
func (p *pack) entry(offset int64) (e packEntry, err error) {
	e, z, err := p.inflate(offset)
	if err != nil {
		return e, err
	}
	defer z.Close()
	if e.size > maxObject {
		return e, errObjectSize
	}
	// Growing as the data arrives: the size is only a claim.
	e.data, err = io.ReadAll(io.LimitReader(z, int64(e.size)+1))
	if err == nil && uint64(len(e.data)) != e.size {
		err = errObject
	}
	return e, err
}

// inflate reads the head of an entry, and gives what yields its data.
func (p *pack) inflate(offset int64) (e packEntry, z io.ReadCloser, err error) {
	if offset < 12 || offset >= p.size {
		return e, nil, errObject
	}
	in := bufio.NewReader(io.NewSectionReader(p.data, offset, p.size-offset))
	c, err := in.ReadByte()
	if err != nil {
		return e, nil, err
	}
	e.kind = int(c >> 4 & 7)
	e.size = uint64(c & 15)
	if c&0x80 != 0 {
		more, err := binary.ReadUvarint(in)
		if err != nil {
			return e, nil, err
		}
		if more > 1<<56 {
			return e, nil, errObject
		}
		e.size |= more << 4
	}
	switch e.kind {
	case packOfsDelta:
		b, _ := in.Peek(10)
		back, used := offsetVarint(b)
		if used == 0 || back == 0 || back > uint64(offset) {
			return e, nil, errObject
		}
		e.back = int64(back)
		in.Discard(used)
	case packRefDelta:
		if _, err := io.ReadFull(in, e.base[:p.algo.size]); err != nil {
			return e, nil, err
		}
	default:
		if packKinds[e.kind] == "" {
			return e, nil, errObject
		}
	}
	z, err = zlib.NewReader(in)
	return e, z, err
}

// applyDelta builds an object from its base. The result never grows beyond the size the delta announces.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errObject
	}
	delta = delta[n:]
	to, n := binary.Uvarint(delta)
	if n <= 0 {
		return nil, errObject
	}
	if to > maxObject {
		return nil, errObjectSize
	}
	delta = delta[n:]
	out := make([]byte, 0, min(to, uint64(len(base)+len(delta)))) // to is only a claim
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		if op&0x80 == 0 { // the next bytes as they are
			if op == 0 || int(op) > len(delta) {
				return nil, errObject
			}
			piece, delta = delta[:op], delta[op:]
		} else { // a piece of the base
			var v [7]byte
			for i := range v {
				if op&(1<<i) != 0 {
					if len(delta) == 0 {
						return nil, errObject
					}
					v[i], delta = delta[0], delta[1:]
				}
			}
			start := uint64(binary.LittleEndian.Uint32(v[:]))
			length := uint64(v[4]) | uint64(v[5])<<8 | uint64(v[6])<<16
			if length == 0 {
				length = 0x10000
			}
			if start+length > uint64(len(base)) {
				return nil, errObject
			}
			piece = base[start : start+length]
		}
		if uint64(len(out)+len(piece)) > to {
			return nil, errObject
		}
		out = append(out, piece...)
	}
	if uint64(len(out)) != to {
		return nil, errObject
	}
	return out, nil
}
