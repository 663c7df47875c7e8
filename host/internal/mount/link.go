package mount

import (
	"encoding/binary"
	"unicode/utf16"
)

// junctionBuffer is the REPARSE_DATA_BUFFER of a mount point that leads to an absolute directory
// path. It is written byte by byte here, where it can be tested on any system.
func junctionBuffer(target string) []byte {
	const tag = 0xA0000003 // IO_REPARSE_TAG_MOUNT_POINT
	substitute := utf16.Encode([]rune(`\??\` + target))
	shown := utf16.Encode([]rune(target))
	names := make([]byte, 0, 2*(len(substitute)+len(shown)+2))
	for _, part := range [][]uint16{substitute, {0}, shown, {0}} {
		for _, unit := range part {
			names = binary.LittleEndian.AppendUint16(names, unit)
		}
	}
	b := binary.LittleEndian.AppendUint32(nil, tag)
	b = binary.LittleEndian.AppendUint16(b, uint16(8+len(names))) // what follows the next field
	b = binary.LittleEndian.AppendUint16(b, 0)                    // reserved
	b = binary.LittleEndian.AppendUint16(b, 0)                    // substitute name: offset and length in bytes
	b = binary.LittleEndian.AppendUint16(b, uint16(2*len(substitute)))
	b = binary.LittleEndian.AppendUint16(b, uint16(2*len(substitute)+2)) // print name
	b = binary.LittleEndian.AppendUint16(b, uint16(2*len(shown)))
	return append(b, names...)
}
