package gitstate

import (
	"encoding/binary"
)

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
