package mount

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The layout of MOUNT_POINT_REPARSE_BUFFER, by hand.
func TestJunctionBuffer(t *testing.T) {
	want, err := hex.DecodeString("030000a0" + "2000" + "0000" + // tag, length, reserved
		"0000" + "0e00" + "1000" + "0600" + // names: offset, length; offset, length
		"5c003f003f005c0043003a005c00" + "0000" + // \??\C:\
		"43003a005c00" + "0000") // C:\
	must(t, err)
	if got := junctionBuffer(`C:\`); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}
