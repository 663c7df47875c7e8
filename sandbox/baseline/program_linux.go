package baseline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

// maxChain is how many interpreters deep a script may be.
const maxChain = 4

// image is what the head of a program says of how it is started.
type image struct {
	format format
	// interpreter is what must be started in its place or maps it, argument what comes between
	// the interpreter of a script and the script.
	interpreter, argument string
}

type format int

const (
	// other is anything else, also what cannot be read: the kernel may know of a way.
	other format = iota
	static
	dynamic
	script
)

// chain collects a program and all that starts it.
type chain struct {
	tree
	o       *Options
	places  []*place
	outside []string
	scripts int
}

// add adds the program by this name, claimed by somebody if that is not empty, and whatever
// it is started by. args are what env would get.
func (c *chain) add(name, by string, args []string) (image, error) {
	p, err := c.file(name)
	switch {
	case err != nil && by == "":
		return image{}, err
	case err != nil:
		shown, remedy := unnamed(name, "install it, or change that line")
		return image{}, fmt.Errorf("%s names %s: %w\n%s", by, shown, err, remedy)
	case !c.believe(name, by, p):
		return image{}, nil // nor is what it needs in turn
	}
	img := c.image(p.Path)
	switch img.format {
	case dynamic:
		// The loader has no interpreter.
		loader, err := c.file(img.interpreter)
		if err != nil {
			return img, fmt.Errorf("the loader of %s, %s: %w\ninstall the libraries it was built for", p.Path, img.interpreter, err)
		}
		c.believe(img.interpreter, p.Path, loader)
	case script:
		if c.scripts++; c.scripts > maxChain {
			return img, fmt.Errorf("it is more than %d interpreters deep", maxChain)
		}
		words := []string{img.argument}
		if strings.HasPrefix(img.argument, "-") {
			words = strings.Fields(img.argument)
		}
		if !path.IsAbs(img.interpreter) {
			img.interpreter = path.Join(c.o.Workspace, img.interpreter) // programs start there
		}
		_, err := c.add(img.interpreter, "the first line of "+p.Path, words)
		return img, err
	}
	if path.Base(name) != "env" {
		return img, nil
	}
	want := sought(args)
	if by == "" && strings.Contains(want, "/") {
		return img, nil // an argument names no file
	}
	if at := c.search(want); at != "" {
		if by == "" {
			by = "env"
		} else {
			by += ", through env,"
		}
		_, err = c.add(at, by, nil)
		return img, err
	}
	if by != "" && want != "" {
		shown, remedy := unnamed(want, "install it, or change PATH ("+c.o.Path+")")
		return img, fmt.Errorf("%s asks env for %s, which is not in PATH\n%s", by, shown, remedy)
	}
	return img, nil
}

// unnamed is what to say of a name that is not there, and what to do, which usually is remedy. A terminal would not
// show a carriage return.
func unnamed(name, remedy string) (shown, what string) {
	if strings.HasSuffix(name, "\r") {
		return strconv.Quote(name), "end its lines as Unix does, without the carriage return: sed -i 's/\\r$//' FILE"
	}
	return name, remedy
}

// file looks up one file that can be started. It wants what the kernel wants of a program, so that naming a file
// gives away nothing but programs.
func (c *chain) file(name string) (*place, error) {
	p, err := c.way(name)
	if err == nil && p.Kind != fit.File {
		err = unix.EACCES
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, c.root+p.Path, unix.X_OK, unix.AT_EACCESS)
	}
	return p, err
}

// believe grants a file that is needed, if whoever says so is believed. The person who named a program is.
// What a program says of itself, or a link of the workspace, opens nothing outside of the directories of the
// system: the kernel may start something else than was read here, if the file is changed meanwhile, or
// means something else to the kernel, or to env, than it does here. In the workspace the rules decide, and
// whatever else is needed has to be granted by name. It returns whether the file is worth a look.
func (c *chain) believe(name, by string, p *place) bool {
	inside := c.inWorkspace(p.Path)
	linked := slices.ContainsFunc(p.links, func(l fit.Grant) bool { return c.inWorkspace(l.Path) })
	switch {
	case c.ofSystem(name, p), by == "" && (inside || !linked):
		c.places = append(c.places, p)
	case !inside:
		c.outside = append(c.outside, p.Path)
		return false
	}
	return true
}

func (c *chain) inWorkspace(at string) bool {
	return c.o.Workspace != "" && fit.Holds(c.o.Workspace, at)
}

// ofSystem reports whether a file lies where only the administrator puts files, or is reached from there by
// links that do, as those of /usr/local into /opt.
func (c *chain) ofSystem(name string, p *place) bool {
	if c.inSystem(p.Path) {
		return true
	}
	return c.inSystem(path.Clean(name)) && !slices.ContainsFunc(p.links, func(l fit.Grant) bool { return !c.inSystem(l.Path) && !fit.Holds("/etc/alternatives", l.Path) })
}

func (c *chain) inSystem(at string) bool {
	return slices.ContainsFunc(slices.Concat(system["programs"], system["stores"]), func(dir string) bool {
		p, err := c.way(dir)
		return fit.Holds(dir, at) || err == nil && len(p.links) > 0 && fit.Holds(p.Path, at)
	})
}

// sought is the program that env starts with these arguments, or empty, also where an option is not
// understood. It serves messages, and programs in a store: nothing else comes of it.
func sought(words []string) string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		option := words[0]
		words = words[1:]
		if option == "--" {
			break
		}
		if name, isLong := strings.CutPrefix(option, "--"); isLong {
			if option = shortOption(name); option == "" {
				return ""
			}
		}
		flags := strings.TrimLeft(option[1:], "i0v")
		if flags == "" {
			continue
		}
		value := flags[1:]
		if value == "" && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		switch flags[0] {
		case 'S':
			words = append(strings.Fields(value), words...)
		case 'u', 'C', 'a':
		default:
			return ""
		}
	}
	// The first word that sets no variable.
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(w, "=") }); i >= 0 {
		return words[i]
	}
	return ""
}

// longOptions are the long options of env, each with a short one that is like it. Those for signals need no value.
const longOptions = "unset=u chdir=C argv0=a split-string=S ignore-environment=i null=0 debug=v " +
	"block-signal=i default-signal=i ignore-signal=i list-signal-handling=i"

// shortOption is the short form of a long option of env, which may be shortened, with its value; empty if it is none.
func shortOption(text string) string {
	name, value, _ := strings.Cut(text, "=")
	var found []string
	for _, o := range strings.Fields(longOptions) {
		if long, short, _ := strings.Cut(o, "="); long == name {
			found = []string{short}
			break
		} else if strings.HasPrefix(long, name) {
			found = append(found, short)
		}
	}
	switch {
	case len(found) != 1:
		return ""
	case strings.Contains("i0v", found[0]):
		return "-" + found[0]
	}
	return "-" + found[0] + value
}

// search looks for a program as env does, in absolute directories only.
func (c *chain) search(name string) string {
	if name == "" || strings.Contains(name, "/") {
		return name
	}
	for dir := range strings.SplitSeq(c.o.Path, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		at := path.Join(dir, name)
		if _, err := c.file(at); err == nil {
			return at
		}
	}
	return ""
}

func (t tree) image(name string) image {
	f, err := os.OpenFile(t.root+name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return image{} // may be executable without being readable
	}
	defer f.Close()
	img := parse(f)
	// The loader itself has no interpreter, and yet what it is given to load has libraries.
	if base := path.Base(name); img.format == static && (strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.so") || strings.HasPrefix(base, "ld64.so")) {
		img.format = other
	}
	return img
}

func parse(file io.ReaderAt) image {
	head := make([]byte, 256) // the kernel reads as much of it
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return image{}
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		return parseScript(head)
	case len(head) >= elf.EI_NIDENT && bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return parseELF(head, file)
	}
	return image{}
}

// parseScript reads the first line as the kernel does, of at most 256 bytes.
func parseScript(head []byte) image {
	line, _, whole := bytes.Cut(head[2:], []byte("\n"))
	whole = whole || len(head) < 256
	line = bytes.Trim(line, " \t")
	end := bytes.IndexAny(line, " \t\x00")
	if end < 0 {
		if end = len(line); !whole {
			return image{} // the name may be cut: the kernel refuses it
		}
	}
	if end == 0 {
		return image{}
	}
	arg, _, _ := bytes.Cut(line[end:], []byte{0})
	return image{script, string(line[:end]), string(bytes.Trim(arg, " \t"))}
}

// maxSegments is how many the kernel reads: 64 KiB of them.
const maxSegments = 64 << 10 / 56

// parseELF looks for the name of the loader. It uses the types of debug/elf, but not its reader: that reads all tables
// of a file, and is not made for hostile ones, such as a program in a workspace may be.
func parseELF(ident []byte, file io.ReaderAt) image {
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(ident[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	read := func(off uint64, into any) bool {
		size := int64(binary.Size(into))
		return binary.Read(io.NewSectionReader(file, int64(off), size), order, into) == nil
	}
	narrow := elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32
	var h elf.Header64
	var p elf.Prog64
	var h32 elf.Header32
	var p32 elf.Prog32
	size := binary.Size(p)
	ok := true
	switch {
	case narrow:
		ok, size = read(0, &h32), binary.Size(p32)
		h.Phoff, h.Phentsize, h.Phnum = uint64(h32.Phoff), h32.Phentsize, h32.Phnum
	case elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64:
		ok = read(0, &h)
	}
	if !ok || int(h.Phentsize) != size || h.Phnum == 0 || h.Phnum > maxSegments {
		return image{}
	}
	for i := range uint64(h.Phnum) {
		if narrow {
			ok = read(h.Phoff+i*uint64(size), &p32)
			p.Type, p.Off, p.Filesz = p32.Type, uint64(p32.Off), uint64(p32.Filesz)
		} else {
			ok = read(h.Phoff+i*uint64(size), &p)
		}
		if !ok {
			return image{}
		}
		if elf.ProgType(p.Type) != elf.PT_INTERP {
			continue
		}
		if p.Filesz > unix.PathMax {
			return image{}
		}
		name := make([]byte, p.Filesz)
		if !read(p.Off, name) {
			return image{}
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		if len(name) == 0 || name[0] != '/' {
			return image{} // relative to wherever one happens to be
		}
		return image{format: dynamic, interpreter: string(name)}
	}
	return image{format: static}
}
