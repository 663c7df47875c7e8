package gitstate

import (
	"bufio"
	"bytes"
	"errors"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

const (
	maxRef        = maxPath + 256
	maxRefDepth   = 5 // symbolic refs to symbolic refs, as in git
	maxPackedRefs = 512 << 20
)

// head gives the commit that HEAD names; ok is false on an unborn branch.
func (r *repo) head() (commit oid, ok bool, err error) {
	name := "HEAD"
	for range maxRefDepth {
		data, found, err := r.looseRef(name)
		if err != nil {
			return oid{}, false, err
		}
		if !found {
			if name == "HEAD" {
				return oid{}, false, unknownf("%q is missing", wspath.JoinSlash(r.gitDir, name))
			}
			return r.packedRef(name)
		}
		target, symbolic := bytes.CutPrefix(data, []byte("ref:"))
		if !symbolic {
			digits := bytes.TrimRight(data, " \t\r\n")
			if id, ok := r.algo.parse(digits); ok {
				return id, true, nil
			}
			return oid{}, false, unknownf("the ref %q is malformed", name)
		}
		name = string(bytes.Trim(target, " \t\r\n"))
		if !validRef(name) {
			return oid{}, false, unknownf("HEAD points to the odd name %q", name)
		}
	}
	return oid{}, false, unknownf("HEAD is nested too deep")
}

// looseRef reads a ref's own file. An empty directory may stand where a packed ref is.
func (r *repo) looseRef(name string) (data []byte, found bool, err error) {
	dir := r.commonDir
	if name == "HEAD" || perWorktree(name) {
		dir = r.gitDir
	}
	file := wspath.JoinSlash(dir, name)
	info, err := lstat(r.fsys, file)
	if err != nil {
		return nil, false, err
	}
	if info == nil || info.IsDir() {
		return nil, false, nil
	}
	data, err = readSmall(r.fsys, file, maxRef)
	switch {
	case notThere(err): // packed in the meantime
		return nil, false, nil
	case err != nil:
		return nil, false, unreadable(file, err)
	}
	return data, true, nil
}

func perWorktree(name string) bool {
	return strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/rewritten/")
}

// validRef follows git check-ref-format, so that a ref can only name a file below refs/.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > maxPath ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte("~^:?*[\\", c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// packedRef looks a ref up in packed-refs, line by line because that file may hold very many.
func (r *repo) packedRef(name string) (id oid, ok bool, err error) {
	file := wspath.JoinSlash(r.commonDir, "packed-refs")
	f, size, err := openRegular(r.fsys, file)
	if notThere(err) {
		return oid{}, false, nil
	}
	if err != nil {
		return oid{}, false, unreadable(file, err)
	}
	defer f.Close()
	if size > maxPackedRefs {
		return oid{}, false, unknownf("%q is too large", file)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 16<<10), maxRef)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 || line[0] == '#' || line[0] == '^' {
			continue
		}
		digits, ref, found := bytes.Cut(line, []byte{' '})
		if !found {
			return oid{}, false, unknownf("%q is malformed", file)
		}
		if string(bytes.TrimRight(ref, " \t\r")) != name {
			continue
		}
		if id, ok = r.algo.parse(digits); !ok {
			return oid{}, false, unknownf("%q is malformed", file)
		}
		return id, true, nil
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return oid{}, false, unknownf("%q is malformed", file)
	} else if err != nil {
		return oid{}, false, unreadable(file, err)
	}
	return oid{}, false, nil
}
