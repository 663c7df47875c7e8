package fskit

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// digestPrefix names the algorithm, so that another one can follow without a guess.
const digestPrefix = "sha256:"

// Digest reads r to its end and returns the digest of the bytes, "sha256:" and 64
// lower-case hexadecimal digits: the form in which fs_read_file reports what it read
// and in which the editing tools take `expected_digest`. It is of the bytes as they
// are, not of the text shown.
func Digest(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return DigestOf(h), nil
}

// DigestOf is [Digest] of what was written to a SHA-256.
func DigestOf(h hash.Hash) string { return digestPrefix + hex.EncodeToString(h.Sum(nil)) }

// DigestBytes is [Digest] of content in memory.
func DigestBytes(content []byte) string {
	h := sha256.New()
	h.Write(content)
	return DigestOf(h)
}

// CheckDigest compares the digest a caller expects with got, that of the content as it
// is now; want may lack the prefix and be in upper case. A difference is CodeStale, and
// a want that is no digest CodeInvalidArguments. path is for the message. The message
// does not contain the current digest: a caller must read the file to get it.
func CheckDigest(path, want, got string) error {
	digits := want
	if len(want) > len(digestPrefix) && strings.EqualFold(want[:len(digestPrefix)], digestPrefix) {
		digits = want[len(digestPrefix):]
	}
	if b, err := hex.DecodeString(digits); err != nil || len(b) != sha256.Size {
		return jptool.Errorf(jptool.CodeInvalidArguments,
			"expected_digest of %s must be %s and 64 hexadecimal digits, as fs_read_file reports it; got %q", jptool.Quote(path), digestPrefix, want)
	}
	if !strings.EqualFold(digestPrefix+digits, got) {
		return jptool.Errorf(jptool.CodeStale,
			"%s is not what was read: its content differs from expected_digest; read it again and decide anew", jptool.Quote(path))
	}
	return nil
}
