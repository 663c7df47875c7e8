package baseline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
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
	if err != nil {
		return image{}, named(name, by, err)
	}
	if !c.believe(name, by, p) {
		return image{}, nil // nor is what it needs in turn
	}
	img := c.image(p.Path)
	switch img.format {
	case dynamic:
		// The loader has no interpreter.
		loader, err := c.file(img.interpreter)
		if err != nil {
			return img, fmt.Errorf("the loader of %s, %s: %w\ninstall the libraries it was built for", p.Path, img.interpreter, reason(err))
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
		_, err := c.add(c.absolute(img.interpreter), "the first line of "+p.Path, words)
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
		return img, fmt.Errorf("%s asks env for %s, which is not in PATH\n%s", by, printable(want), unnamed(want, "install it, or change PATH ("+c.o.Path+")"))
	}
	return img, nil
}

func named(name, by string, err error) error {
	if by == "" {
		return reason(err)
	}
	return fmt.Errorf("%s names %s: %w\n%s", by, printable(name), reason(err), unnamed(name, "install it, or change that line"))
}

// printable shows a carriage return, which a terminal would not.
func printable(name string) string {
	if strings.HasSuffix(name, "\r") {
		return strconv.Quote(name)
	}
	return name
}

// unnamed is what to do about a name that is not there, which usually is remedy.
func unnamed(name, remedy string) string {
	if strings.HasSuffix(name, "\r") {
		return "end its lines as Unix does, without the carriage return: sed -i 's/\\r$//' FILE"
	}
	return remedy
}

// file looks up one file that can be started.
func (c *chain) file(name string) (*place, error) {
	p, err := c.way(name)
	if err == nil {
		err = c.startable(p)
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
	linked := slices.ContainsFunc(p.links, func(l Link) bool { return c.inWorkspace(l.Path) })
	switch {
	case c.ofSystem(name, p), by == "" && (inside || !linked):
		c.places = append(c.places, p)
	case !inside:
		c.outside = append(c.outside, p.Path)
		return false
	}
	return true
}

func (c *chain) inWorkspace(at string) bool { return c.o.Workspace != "" && under(at, c.o.Workspace) }

// ofSystem reports whether a file lies where only the administrator puts files, or is reached from there by
// links that do, as those of /usr/local into /opt.
func (c *chain) ofSystem(name string, p *place) bool {
	if c.inSystem(p.Path) {
		return true
	}
	return c.inSystem(path.Clean(name)) && !slices.ContainsFunc(p.links, func(l Link) bool { return !c.inSystem(l.Path) && !under(l.Path, "/etc/alternatives") })
}

func (c *chain) inSystem(at string) bool {
	for _, dirs := range [][]string{systemDirs, stores} {
		for _, dir := range dirs {
			if under(at, dir) {
				return true
			}
			if p, err := c.way(dir); err == nil && len(p.links) > 0 && under(at, p.Path) {
				return true
			}
		}
	}
	return false
}

// absolute is what a name means to the kernel: programs start in the workspace.
func (c *chain) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(c.o.Workspace, name)
}

// sought is the program that env starts with these arguments, or empty, also where an option is not
// understood. It serves messages, and programs in a store: nothing else comes of it.
func sought(words []string) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		split, takes, ok := "", false, true
		switch {
		case w == "--":
			return operand(words[i+1:])
		case w == "-":
			continue
		case strings.HasPrefix(w, "--"):
			name, value, has := strings.Cut(w[2:], "=")
			if split, takes, ok = longOption(name); split != "" && has {
				return sought(append(strings.Fields(value), words[i+1:]...))
			}
			takes = takes && !has
		case strings.HasPrefix(w, "-"):
			flags := strings.TrimLeft(w[1:], "i0v")
			switch {
			case flags == "":
				continue
			case flags[0] == 'S' && len(flags) > 1:
				return sought(append(strings.Fields(flags[1:]), words[i+1:]...))
			case strings.IndexByte("SuCa", flags[0]) < 0:
				ok = false
			default:
				split, takes = strings.Trim(flags[:1], "uCa"), len(flags) == 1
			}
		default:
			return operand(words[i:])
		}
		if !ok {
			return ""
		}
		if takes {
			if i++; i < len(words) && split != "" {
				return sought(append(strings.Fields(words[i]), words[i+1:]...))
			}
		}
	}
	return ""
}

// longOption says of an option of env, which may be shortened, whether it splits its value, and whether it
// takes one.
func longOption(name string) (split string, takes, ok bool) {
	found := ""
	for _, o := range []string{
		"unset", "chdir", "argv0", "split-string", "ignore-environment", "null", "debug",
		"block-signal", "default-signal", "ignore-signal", "list-signal-handling",
	} {
		switch {
		case o == name:
			found, ok = o, true
		case strings.HasPrefix(o, name) && found != name:
			found, ok = o, found == ""
		}
	}
	if !ok {
		return "", false, false
	}
	switch found {
	case "split-string":
		return "S", true, true
	case "unset", "chdir", "argv0":
		return "", true, true
	}
	return "", false, true
}

// operand is the first word that sets no variable.
func operand(words []string) string {
	for _, w := range words {
		if !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
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
		if p, err := c.way(at); err == nil && c.startable(p) == nil {
			return at
		}
	}
	return ""
}

// startable wants what the kernel wants of a program, so that naming a file gives away
// nothing but programs.
func (t tree) startable(p *place) error {
	if p.Kind != fit.File {
		return unix.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, t.root+p.Path, unix.X_OK, unix.AT_EACCESS)
}

func reason(err error) error {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
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
	var segments []elf.Prog64
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		var h elf.Header64
		if !read(0, &h) || int(h.Phentsize) != binary.Size(elf.Prog64{}) || h.Phnum > maxSegments {
			return image{}
		}
		segments = make([]elf.Prog64, h.Phnum)
		if !read(h.Phoff, segments) {
			return image{}
		}
	case elf.ELFCLASS32:
		var h elf.Header32
		if !read(0, &h) || int(h.Phentsize) != binary.Size(elf.Prog32{}) || h.Phnum > maxSegments {
			return image{}
		}
		list := make([]elf.Prog32, h.Phnum)
		if !read(uint64(h.Phoff), list) {
			return image{}
		}
		for _, p := range list {
			segments = append(segments, elf.Prog64{Type: p.Type, Off: uint64(p.Off), Filesz: uint64(p.Filesz)})
		}
	}
	if len(segments) == 0 {
		return image{}
	}
	for _, p := range segments {
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
