package gitstate

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// seedRepo gives the files below .git of a small packed repository, made by git.
func seedRepo(f *testing.F, args ...string) map[string][]byte {
	g := initRepo(f, realTemp(f), args...)
	for i := range 60 {
		g.write(fmt.Sprintf("dir/file_with_a_long_name_%d", i), "x")
	}
	g.commit("1")
	g.write("dir/file_with_a_long_name_7", "y")
	g.write("other/sub/f", "y")
	g.commit("2")
	g.git("gc", "-q")
	files := map[string][]byte{}
	dot := filepath.Join(g.dir, ".git")
	g.must(filepath.WalkDir(dot, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(p, "hooks") {
			rel, _ := filepath.Rel(dot, p)
			files[filepath.ToSlash(rel)], err = os.ReadFile(p)
		}
		return err
	}))
	return files
}

// seal puts the right checksum at the end, so that mutations get past it.
func seal(data []byte, a algo) []byte {
	if len(data) < a.size {
		return data
	}
	body := slices.Clone(data[:len(data)-a.size])
	h := a.new()
	h.Write(body)
	return h.Sum(body)
}

// FuzzIndex: whatever the file holds, names come strictly sorted, within bounds and not more of them than the
// file has room for; and a damaged checksum is always noticed.
func FuzzIndex(f *testing.F) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "4"} {
			g := initRepo(f, realTemp(f), "--object-format="+format)
			g.write("a", "x")
			g.write("dir/name", "x")
			g.write("dir/"+strings.Repeat("n", 250), "x")
			g.commit("1")
			if version == "4" {
				g.write("intent", "x")
				g.git("add", "-N", "intent")
			}
			g.git("update-index", "--index-version", version)
			data, err := os.ReadFile(filepath.Join(g.dir, ".git/index"))
			g.must(err)
			f.Add(data, format == "sha256")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		a := sha1Algo
		if long {
			a = sha256Algo
		}
		data = seal(data, a)
		var last string
		var lastConflict bool
		n := 0
		scan := func(data []byte) error {
			return scanIndex(bytes.NewReader(data), int64(len(data)), a, func(e *indexEntry) error {
				name := e.name
				if name == "" || len(name) > maxPath || strings.Contains(name, "\x00") {
					t.Fatalf("name %q", name)
				}
				if n > 0 && (name < last || name == last && !(lastConflict || e.conflict)) {
					t.Fatalf("%q after %q", name, last)
				}
				last, lastConflict = name, e.conflict
				n++
				return nil
			})
		}
		err := scan(data)
		if n*(statLen+a.size+3) > len(data) {
			t.Fatalf("%d entries from %d bytes", n, len(data))
		}
		if err == nil {
			n = 0
			data[len(data)-1] ^= 1
			if sum := data[len(data)-a.size:]; scan(data) == nil && !bytes.Equal(sum, make([]byte, a.size)) {
				t.Fatal("a wrong checksum passed")
			}
		}
	})
}

// FuzzDelta: a result has exactly the size the delta announces, and is the one that a plain reading of the
// format gives.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("0123456789"), []byte("\x0a\x09\x91\x02\x05\x04abcd"))
	f.Add([]byte("base"), []byte("\x04\x08\x90\x04\x90\x04"))
	f.Add([]byte(""), []byte("\x00\x01\x01x"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		got, err := applyDelta(base, delta)
		if err != nil {
			return
		}
		from, n := binary.Uvarint(delta)
		to, m := binary.Uvarint(delta[n:])
		if from != uint64(len(base)) || to != uint64(len(got)) {
			t.Fatalf("from %d to %d, got %d from %d", from, to, len(got), len(base))
		}
		var want []byte
		next := func() uint32 { n++; return uint32(delta[n-1]) }
		for n += m; n < len(delta); {
			op := next()
			if op < 0x80 {
				want = append(want, delta[n:n+int(op)]...)
				n += int(op)
				continue
			}
			var start, size uint32
			for i := range 4 {
				if op>>i&1 == 1 {
					start |= next() << (8 * i)
				}
			}
			for i := range 3 {
				if op>>(4+i)&1 == 1 {
					size |= next() << (8 * i)
				}
			}
			if size == 0 {
				size = 0x10000
			}
			want = append(want, base[start:start+size]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// mapFS is an FS in memory.
type mapFS struct{ fstest.MapFS }

func (m mapFS) name(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}

func (m mapFS) Open(rel string) (File, error) {
	f, err := m.MapFS.Open(m.name(rel))
	if err != nil {
		return nil, err
	}
	if file, ok := f.(File); ok {
		return file, nil
	}
	return nil, errors.New("a directory")
}
func (m mapFS) Lstat(rel string) (fs.FileInfo, error)     { return m.MapFS.Lstat(m.name(rel)) }
func (m mapFS) ReadDir(rel string) ([]fs.DirEntry, error) { return m.MapFS.ReadDir(m.name(rel)) }
func (m mapFS) Readlink(rel string) (string, error)       { return m.MapFS.ReadLink(m.name(rel)) }

// FuzzPack: whatever is in the pack and its index, an object that is returned has the hash it was asked by.
func FuzzPack(f *testing.F) {
	files := seedRepo(f)
	var ids []byte
	for name, data := range files {
		if strings.HasSuffix(name, ".idx") {
			pack := files[strings.TrimSuffix(name, ".idx")+".pack"]
			table := data[packFan+4*256:]
			for i := range int(binary.BigEndian.Uint32(data[packFan+4*255:])) {
				ids = table[i*20 : i*20+20]
				f.Add(data, pack, ids)
			}
		}
	}
	if ids == nil {
		f.Fatal("no seeds")
	}
	f.Fuzz(func(t *testing.T, idx, pack, name []byte) {
		var id oid
		copy(id[:20], name)
		r := &repo{commonDir: ".git", algo: sha1Algo, fsys: mapFS{fstest.MapFS{
			".git/objects/pack/pack-a.idx":  {Data: idx},
			".git/objects/pack/pack-a.pack": {Data: pack},
		}}}
		defer r.close()
		for _, kind := range []string{"commit", "tree"} {
			data, err := r.object(t.Context(), id, kind)
			if err == nil && sha1Algo.object(kind, data) != id {
				t.Fatalf("%s %x has the wrong content %q", kind, id, data)
			}
			if err == nil && kind == "tree" {
				_, _ = r.tree(t.Context(), id)
			}
		}
		entries, _ := parseTree(pack, sha1Algo)
		for _, e := range entries {
			if e.name == "" || strings.ContainsAny(e.name, "/\x00") {
				t.Fatalf("entry %q %x", e.name, e.id)
			}
		}
	})
}

// FuzzPackEntries builds a well-formed pack whose entries refer to each other at will, circles included: each
// is read to an end, whole ones come back as they are, and a delta only ever as its base says.
func FuzzPackEntries(f *testing.F) {
	f.Add([]byte("\x02\x00tree\xfe\x07\x00\x04\x04\x90\x04"))             // a copy of the first
	f.Add([]byte("\x07\x01\x04\x04\x90\x04\xfe\x07\x00\x04\x04\x90\x04")) // a circle
	f.Add([]byte("\x01\x00commit\xfe\x06\x01\x06\x06\x90\x06\xfe\x06\x01\x06\x02\x90\x02"))
	f.Fuzz(func(t *testing.T, script []byte) {
		parts := bytes.Split(script, []byte{0xfe})
		pad := func(b []byte) []byte { return append(slices.Clone(b), make([]byte, max(0, 2-len(b)))...) }
		if len(parts) > 200 {
			return
		}
		file, offsets := bytes.NewBufferString("PACK\x00\x00\x00\x02...."), []int{}
		for i, part := range parts {
			part = pad(part)
			kind, base, data := part[0]&7, int(part[1]), part[2:]
			offsets = append(offsets, file.Len())
			size := uint64(len(data))
			head := []byte{kind<<4 | byte(size&15)}
			for size >>= 4; size > 0; size >>= 7 {
				head[len(head)-1] |= 0x80
				head = append(head, byte(size&0x7f))
			}
			file.Write(head)
			switch kind {
			case packOfsDelta:
				file.WriteByte(byte(offsets[i]-offsets[max(0, i-base)]) & 0x7f)
			case packRefDelta:
				file.Write(append([]byte{byte(base % len(parts))}, make([]byte, 19)...))
			}
			z := zlib.NewWriter(file)
			z.Write(data)
			z.Close()
		}
		file.Write(make([]byte, 20))
		idx := []byte("\xfftOc\x00\x00\x00\x02")
		for i := range 256 {
			idx = binary.BigEndian.AppendUint32(idx, uint32(min(i+1, len(parts))))
		}
		for i := range parts {
			idx = append(append(idx, byte(i)), make([]byte, 19)...)
		}
		idx = append(idx, make([]byte, 4*len(parts))...)
		for _, o := range offsets {
			idx = binary.BigEndian.AppendUint32(idx, uint32(o))
		}
		idx = append(idx, make([]byte, 40)...)

		p := &pack{algo: sha1Algo, data: bytes.NewReader(file.Bytes()), size: int64(file.Len() - 20)}
		if err := p.openIndex(bytes.NewReader(idx), int64(len(idx))); err != nil {
			t.Fatal(err)
		}
		for i, part := range parts {
			offset, err := p.find(oid{byte(i)})
			if err != nil || offset != int64(offsets[i]) {
				t.Fatalf("entry %d: at %d, %v", i, offset, err)
			}
			kind, data, err := p.read(offset)
			part = pad(part)
			if whole := packKinds[part[0]&7]; whole != "" {
				if err != nil || kind != whole || !bytes.Equal(data, part[2:]) {
					t.Fatalf("entry %d is %s %q, %v", i, kind, data, err)
				}
			} else if err == nil && (kind == "" || len(data) > maxObject) {
				t.Fatalf("entry %d is %q with %d bytes", i, kind, len(data))
			}
		}
	})
}

// FuzzLoose: what decodes encodes to the same object again.
func FuzzLoose(f *testing.F) {
	encode := func(kind string, data []byte) []byte {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		fmt.Fprintf(z, "%s %d\x00%s", kind, len(data), data)
		z.Close()
		return b.Bytes()
	}
	f.Add(encode("tree", nil))
	f.Add(encode("commit", []byte("tree 1234\n")))
	f.Fuzz(func(t *testing.T, in []byte) {
		kind, data, err := readLoose(bytes.NewReader(in))
		if err != nil {
			return
		}
		kind2, data2, err := readLoose(bytes.NewReader(encode(kind, data)))
		if err != nil || kind != kind2 || !bytes.Equal(data, data2) {
			t.Fatalf("%q %q becomes %q %q %v", kind, data, kind2, data2, err)
		}
	})
}

// FuzzConfig: what is read, written out quoted and read again, is the same.
func FuzzConfig(f *testing.F) {
	for _, s := range configSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(data []byte) (out []byte, ok bool) {
			err := parseConfig(data, func(section, key, value string, hasValue bool) error {
				out = fmt.Appendf(out, "[%s]\n%s", section, key)
				if hasValue {
					value = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\b", "\\b").Replace(value)
					out = fmt.Appendf(out, " = \"%s\"", value)
				}
				out = append(out, '\n')
				return nil
			})
			return out, err == nil
		}
		first, ok := read(data)
		if !ok {
			return
		}
		second, ok := read(first)
		if !ok || !bytes.Equal(first, second) {
			t.Fatalf("%q becomes %q", first, second)
		}
		c := defaultConfig()
		if c.parse(data) == nil && c.check() == nil && c.objectFormat != "sha1" && c.objectFormat != "sha256" {
			t.Fatalf("accepted %+v", c)
		}
	})
}

var configSamples = []string{
	"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
	"[core] fileMode\n[extensions]\nobjectFormat = sha256 ; x\n",
	"[a \"b \\\" c\"]\nk = v # c\n[core]\nk = \"a # b\" c \\\n  d \\t\\\\\\\"\nempty =\n",
	"\xef\xbb\xbf[core]\r\n  autocrlf = input\r\n",
	"# only\n; comments\n\n[core]k=v",
	"[core]\nk = a\"b  \"  c  \n[CORE.Sub]\nk = v\n[core]\nK2=v;x\n",
}

// TestConfigAsGit compares the reader with git's.
func TestConfigAsGit(t *testing.T) {
	needGit(t)
	bad := []string{"[core", "[core]\nk = \"x\n", "k = v\n", "[core]\nk = \\x\n", "[core]\n1 = 2\n", "[core \"x]\n", "[core]\nk v\n"}
	for i, sample := range slices.Concat(configSamples, bad) {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
			t.Fatal(err)
		}
		out, gitErr := exec.Command("git", "config", "-f", file, "--null", "--list").Output()
		var want, got []string
		for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name, _, _ := strings.Cut(item, "\n"); strings.Count(name, ".") == 1 {
				want = append(want, item)
			}
		}
		err := parseConfig([]byte(sample), func(section, key, value string, hasValue bool) error {
			if hasValue {
				key += "\n" + value
			}
			got = append(got, section+"."+key)
			return nil
		})
		if (err != nil) != (gitErr != nil) || err != nil && i < len(configSamples) {
			t.Errorf("%q: %v, git: %v", sample, err, gitErr)
		}
		if err == nil && !slices.Equal(got, want) {
			t.Errorf("%q: %q, git has %q", sample, got, want)
		}
	}
}

// FuzzHead: HEAD leads nowhere but below refs/.
func FuzzHead(f *testing.F) {
	f.Add([]byte("ref: refs/heads/main\n"), []byte(strings.Repeat("ab", 20)+" refs/heads/main\n"))
	f.Add([]byte("ref: refs/../config"), []byte("# x\n^y\n"))
	f.Add([]byte(strings.Repeat("ab", 20)), []byte{})
	f.Fuzz(func(t *testing.T, head, packed []byte) {
		log := &logFS{mapFS: mapFS{fstest.MapFS{".git/HEAD": {Data: head}, ".git/packed-refs": {Data: packed}}}}
		r := &repo{fsys: log, gitDir: ".git", commonDir: ".git", algo: sha1Algo}
		_, _, _ = r.head()
		for _, name := range log.names {
			inRefs := strings.HasPrefix(name, ".git/refs/") && !strings.Contains(name, "/../") && !strings.Contains(name, "/./")
			if name != ".git/HEAD" && name != ".git/packed-refs" && !inRefs {
				t.Fatalf("looked at %q", name)
			}
		}
	})
}

// logFS notes what is looked at.
type logFS struct {
	mapFS
	names []string
}

func (l *logFS) Open(rel string) (File, error) {
	l.names = append(l.names, rel)
	return l.mapFS.Open(rel)
}

func (l *logFS) Lstat(rel string) (fs.FileInfo, error) {
	l.names = append(l.names, rel)
	return l.mapFS.Lstat(rel)
}

// FuzzAttributes: never a panic, and text that names nothing we use never changes anything.
func FuzzAttributes(f *testing.F) {
	f.Add([]byte("* text=auto\n*.x -text eol=lf\n\"q\" binary\n[attr]m text\n!x text\n"), "d/f.x")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		a := attributes{}
		ok := a.parse(data, "", path)
		if !bytes.Contains(data, []byte("[attr]")) && !bytes.ContainsAny(data, "\"") && !ok {
			t.Fatal("gave up without a macro or a quote")
		}
		if len(a) > 0 && len(data) < 5 {
			t.Fatalf("%q sets %+v", data, a)
		}
	})
}
