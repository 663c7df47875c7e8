package fskit

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jptools/jptools/jptool"
)

const (
	emptyDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	abcDigest   = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
)

func TestDigest(t *testing.T) {
	for content, want := range map[string]string{"": emptyDigest, "abc": abcDigest} {
		got, err := Digest(iotest.OneByteReader(strings.NewReader(content)))
		if err != nil || got != want {
			t.Errorf("Digest(%q) = %s, %v; want %s", content, got, err, want)
		}
		if got := DigestBytes([]byte(content)); got != want {
			t.Errorf("DigestBytes(%q) = %s; want %s", content, got, want)
		}
	}
	if _, err := Digest(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing reader gave %v", err)
	}
}

func TestCheckDigest(t *testing.T) {
	bare := strings.TrimPrefix(abcDigest, "sha256:")
	for _, c := range []struct {
		want string
		code jptool.Code
	}{
		{abcDigest, ""},
		{bare, ""},
		{strings.ToUpper(abcDigest), ""},
		{"sha256:" + strings.ToUpper(bare), ""},
		{emptyDigest, jptool.CodeStale},
		{"", jptool.CodeInvalidArguments},
		{"sha256:", jptool.CodeInvalidArguments},
		{bare[:12], jptool.CodeInvalidArguments},
		{bare + "00", jptool.CodeInvalidArguments},
		{"md5:" + bare, jptool.CodeInvalidArguments},
		{bare[:63] + "x", jptool.CodeInvalidArguments},
	} {
		err := CheckDigest("a.txt", c.want, abcDigest)
		if c.code == "" {
			if err != nil {
				t.Errorf("%q: %v", c.want, err)
			}
			continue
		}
		if err == nil || jptool.CodeOf(err) != c.code || !strings.Contains(err.Error(), "a.txt") {
			t.Errorf("%q: got %v, want code %s", c.want, err, c.code)
		}
		if err != nil && !strings.Contains(c.want, bare) && strings.Contains(err.Error(), bare) {
			t.Errorf("%q: the message tells the current digest: %v", c.want, err)
		}
	}
}
