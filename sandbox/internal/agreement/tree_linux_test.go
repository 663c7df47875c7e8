package agreement

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// program is the smallest one: it ends with status 42. All files start with it.
func program() string {
	code := []byte{0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05} // mov edi, 42; mov eax, 60; syscall
	machine := uint16(62)
	if runtime.GOARCH == "arm64" {
		machine = 183
		code = nil
		for _, w := range []uint32{0xd2800540, 0xd2800ba8, 0xd4000001} { // mov x0, 42; mov x8, 93; svc 0
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	}
	const base, head = 0x400000, 64 + 56
	size := uint64(head + len(code))
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	for _, v := range []any{
		uint16(2), machine, uint32(1), uint64(base + head), uint64(64), uint64(0), uint32(0), // executable, entry, program headers
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x1000), // load all of it
	} {
		b = must(binary.Append(b, binary.LittleEndian, v))
	}
	return string(append(b, code...))
}

var magic = program()

// entry is one entry of a tree.
type entry struct {
	kind byte // d, f, l, or m for what something is mounted on
	ino  uint64
	text string // content, or where the link leads
}

// tree is what is below a directory, by path relative to it.
type tree map[string]entry

// build makes the entries of a scene below dir, one per line: "dir P", "file P", "symlink P
// TO", in which $ROOT stands for dir, and "mount P FROM", where FROM is also below dir. What is in a
// file is told by its path.
func build(dir string, lines []string) {
	do(os.Mkdir(dir, 0o755))
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		name, to, _ := strings.Cut(rest, " ")
		at := path.Join(dir, name)
		do(os.MkdirAll(path.Dir(at), 0o755))
		switch kind {
		case "dir":
			do(os.MkdirAll(at, 0o755))
		case "file":
			do(os.WriteFile(at, []byte(magic+"content of "+name), 0o755))
		case "symlink":
			do(os.Symlink(strings.ReplaceAll(to, "$ROOT", dir), at))
		case "mount":
			from := path.Join(dir, to)
			if fi := must(os.Stat(from)); fi.IsDir() {
				do(os.MkdirAll(at, 0o755))
			} else {
				do(os.WriteFile(at, nil, 0o755))
			}
			do(unix.Mount(from, at, "", unix.MS_BIND, ""))
		default:
			panic("no such kind of entry: " + line)
		}
	}
}

// removeAll removes a tree and what is mounted in it, but not what was mounted.
func removeAll(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	for p, e := range scan(dir) {
		if e.kind == 'm' {
			do(unix.Unmount(path.Join(dir, p), unix.MNT_DETACH))
		}
	}
	return os.RemoveAll(dir)
}

// mounted are the places in a tree where something is mounted.
func (t tree) mounted() []string {
	return slices.DeleteFunc(t.paths(), func(p string) bool { return t[p].kind != 'm' })
}

// scan reads a tree. What was mounted somewhere is read where it came from.
func scan(dir string) tree {
	t := tree{}
	var walk func(rel string)
	walk = func(rel string) {
		for _, name := range must(names(path.Join(dir, rel))) {
			p := path.Join(rel, name)
			t[p] = look(path.Join(dir, p))
			if t[p].kind == 'd' {
				walk(p)
			}
		}
	}
	walk("")
	return t
}

func look(p string) entry {
	var st unix.Statx_t
	do(unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st))
	e := entry{ino: st.Ino}
	if st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		e.kind = 'm'
		return e
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.kind = 'd'
	case unix.S_IFLNK:
		e.kind, e.text = 'l', must(os.Readlink(p))
	default:
		e.kind, e.text = 'f', string(must(os.ReadFile(p)))
	}
	return e
}

func (t tree) paths() []string {
	list := make([]string, 0, len(t))
	for p := range t {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// effect says what became of a tree; nothing is "". With identity, an object that has
// come to another place is told from a copy of it.
func effect(dir string, before, after tree, identity bool) string {
	was := map[uint64]string{}
	for _, p := range before.paths() {
		if ino := before[p].ino; was[ino] == "" { // the first of several names
			was[ino] = p
		}
	}
	var b strings.Builder
	all := append(before.paths(), after.paths()...)
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		x, had := before[p]
		y, has := after[p]
		if had && has && x.kind == y.kind && x.text == y.text && (x.ino == y.ino || !identity) {
			continue
		}
		if !has {
			fmt.Fprintf(&b, "-%s; ", p)
			continue
		}
		fmt.Fprintf(&b, "%s%s %c %s", map[bool]string{true: "~", false: "+"}[had], p, y.kind, short(dir, y.text))
		if identity && was[y.ino] != "" {
			fmt.Fprintf(&b, " (was %s)", was[y.ino])
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// short is a content or link for people, the same in every scene.
func short(dir, text string) string {
	text = strings.ReplaceAll(text, dir, "$ROOT")
	if rest, ok := strings.CutPrefix(text, magic); ok {
		text = rest
	}
	return strconv.Quote(text)
}

// same reports whether two entries are one object, as far as can be told: the number of what is gone
// may be that of something else now, and a symlink keeps its text.
func (e entry) same(f entry) bool {
	return e.ino == f.ino && e.kind == f.kind && (e.kind != 'l' || e.text == f.text)
}

// restore makes a tree what it was, keeping objects wherever they still are. What has to
// be made again is another object then. It returns the tree as it is now.
func restore(dir, spare string, want tree) tree {
	now := scan(dir)
	if effect(dir, want, now, true) == "" {
		return want
	}
	wanted, placed := map[uint64]entry{}, map[uint64]string{}
	for p, e := range want {
		wanted[e.ino] = e
		if now[p].same(e) {
			placed[e.ino] = p
		}
	}
	aside := map[uint64]string{}
	byDepth := func(list []string) []string {
		slices.SortStableFunc(list, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
		return list
	}
	list := byDepth(now.paths())
	slices.Reverse(list) // inner first
	for _, p := range list {
		e := now[p]
		if w, ok := want[p]; ok && w.same(e) {
			continue
		}
		at := path.Join(dir, p)
		if wanted[e.ino].same(e) && placed[e.ino] == "" && aside[e.ino] == "" {
			aside[e.ino] = path.Join(spare, strconv.FormatUint(e.ino, 10))
			do(os.Rename(at, aside[e.ino]))
			continue
		}
		do(os.Remove(at))
	}
	for _, p := range byDepth(want.paths()) {
		e, at := want[p], path.Join(dir, p)
		if _, err := os.Lstat(at); err != nil {
			switch from, other := aside[e.ino], placed[e.ino]; {
			case other != "" && e.kind != 'd':
				do(os.Link(path.Join(dir, other), at))
			case from != "":
				do(os.Rename(from, at))
				placed[e.ino] = p
			case e.kind == 'd':
				do(os.Mkdir(at, 0o755))
			case e.kind == 'l':
				do(os.Symlink(e.text, at))
			default:
				do(os.WriteFile(at, []byte(e.text), 0o755))
			}
		}
		if e.kind == 'f' && string(must(os.ReadFile(at))) != e.text {
			do(os.WriteFile(at, []byte(e.text), 0o755))
		}
	}
	now = scan(dir)
	if left := effect(dir, want, now, false); left != "" {
		panic("the tree could not be restored: " + left)
	}
	return now
}
