package baseline

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// run is all that the baseline grants of itself.
const run = jptool.Read | jptool.Execute

// systemDirs are where programs and libraries are.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// startNames are what programs read of /etc before they do anything of their own. Nothing
// here may hold a secret on any distribution, even if the host runs as root. The files
// that name the user (passwd, group) are the real ones: everybody may read them
// anyway, and a made-up one could be had in one tier only.
var startNames = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
	"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/default/locale",
	"/etc/alternatives", "/etc/mime.types", "/etc/magic", "/etc/magic.mime", "/etc/gitconfig", "/etc/fonts", "/etc/perl",
	// Which system it is. To pip a file that may not be read is an error, and one that is not there is not.
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/redhat-release", "/etc/alpine-release",
	// Where NixOS keeps what links in /etc lead to.
	"/etc/static",
}

// startPrefixes are of names that have a version in them: the loader of musl, and settings
// without which the runtimes of these languages do not start, or complain.
var startPrefixes = []string{"ld-musl-", "python", "java"}

// trust are certificates and what TLS libraries read, each by its own name: beside some of
// them are private keys.
var trust = []string{
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf",
	"/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/var/lib/ca-certificates", "/etc/crypto-policies",
}

// netNames are read to find a host; with trust they are all that a static program
// needs to speak to one.
var netNames = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/nsswitch.conf",
	"/etc/services", "/etc/protocols", "/etc/networks",
	// Where links among the certificates lead.
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
}

// stores are directories of package managers whose programs find everything by its full path.
var stores = []string{"/nix/store", "/gnu/store"}

// system is what does not depend on the program.
type system struct {
	places []*place
	// stamps are the directories that all of it was found in, as they were; nil if nobody wants to know.
	stamps map[string]stamp
	// While it was gathered: directories that were seen, whether the names in /etc that are asked for
	// are there, and the paths of those there that have a version.
	dirs, names known
	versioned   []string
}

type stamp struct {
	id         fit.ID
	sec, nanos int64
}

type systemKey struct {
	tree
	static, network bool
}

// systems are kept for the process, as long as no directory they were found in has changed, from
// the second time on: most hosts start one program, and what is kept takes some time to keep.
var systems struct {
	sync.Mutex
	known map[systemKey]*system // nil for what was asked for once
}

// nothing is the system of a static program that speaks to nobody.
var nothing system

func (t tree) system(static, network bool, dirs known) *system {
	if static && !network {
		return &nothing
	}
	key := systemKey{t, static, network}
	systems.Lock()
	defer systems.Unlock()
	kept, again := systems.known[key]
	if kept != nil && kept.fresh(t) {
		return kept
	}
	s := &system{dirs: dirs}
	if again {
		s.stamps = map[string]stamp{}
	}
	s.list(t)
	if !static {
		s.programs(t)
		s.each(t, startNames)
		for _, path := range s.versioned {
			s.one(t, path)
		}
	}
	if network {
		s.each(t, netNames)
	}
	s.each(t, trust)
	s.dirs, s.names, s.versioned = nil, nil, nil
	if systems.known == nil {
		systems.known = map[systemKey]*system{}
	}
	if systems.known[key] = nil; again {
		systems.known[key] = s
	}
	return s
}

func (s *system) programs(t tree) {
	for _, dir := range systemDirs {
		if p, err := t.way(dir, s.dirs); err == nil && p.Kind == fit.Dir {
			s.add(t, dir, p)
		}
	}
}

// list reads the names in /etc once, which is cheaper than asking for each; without
// them, each is asked for.
func (s *system) list(t tree) {
	s.stamp(t, "/etc/x")
	fd, err := unix.Open(t.root+"/etc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	s.names = make(known, 64)
	for _, paths := range [][]string{startNames, netNames, trust} {
		for _, path := range paths {
			if name := inEtc(path); name != "" {
				s.names[name] = false
			}
		}
	}
	buf := make([]byte, 8<<10) // nearly always everything is in it
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			s.names, s.versioned = nil, nil
			return
		case n <= 0:
			return
		}
		for entries := buf[:n]; len(entries) > 0; {
			var name []byte
			name, entries = nextEntry(entries)
			if _, asked := s.names[string(name)]; asked {
				s.names[string(name)] = true
			} else if prefixed(name) {
				s.versioned = append(s.versioned, "/etc/"+string(name))
			}
		}
	}
}

// nextEntry takes the first of some struct linux_dirent64 apart. unix.ParseDirent makes a string of
// every name, and most are not asked for.
func nextEntry(entries []byte) (name, rest []byte) {
	const sizeAt, nameAt = 16, 19
	size := binary.NativeEndian.Uint16(entries[sizeAt:])
	name, _, _ = bytes.Cut(entries[nameAt:size], []byte{0})
	return name, entries[size:]
}

// inEtc is the name in /etc that a path begins with, or nothing.
func inEtc(path string) string {
	rest, ok := strings.CutPrefix(path, "/etc/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func prefixed(name []byte) bool {
	return slices.ContainsFunc(startPrefixes, func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) })
}

func (s *system) each(t tree, paths []string) {
	for _, path := range paths {
		if name := inEtc(path); name != "" && s.names != nil && !s.names[name] {
			continue
		}
		s.one(t, path)
	}
}

// one adds a file or directory if everybody may read it. That keeps a host which runs as root
// from giving away what only root may read.
func (s *system) one(t tree, path string) {
	s.stamp(t, path)
	p, err := t.way(path, s.dirs)
	if err != nil {
		return
	}
	if p.Kind == fit.File && p.mode&unix.S_IROTH != 0 || p.Kind == fit.Dir && p.mode&0o005 == 0o005 {
		s.add(t, path, p)
	}
}

func (s *system) add(t tree, name string, p *place) {
	s.places = append(s.places, p)
	s.stamp(t, name)
	s.stamp(t, p.Path)
	for _, l := range p.links {
		s.stamp(t, l.Path)
	}
}

// stamp notes the directory that an entry is in: whatever replaces the entry changes its
// time.
func (s *system) stamp(t tree, entry string) {
	if s.stamps == nil {
		return
	}
	dir := path.Dir(entry)
	if _, ok := s.stamps[dir]; !ok {
		s.stamps[dir] = t.stamp(dir)
	}
}

func (t tree) stamp(dir string) stamp {
	var st unix.Stat_t
	if unix.Stat(t.root+dir, &st) != nil {
		return stamp{}
	}
	sec, nanos := st.Mtim.Unix()
	return stamp{node(dir, &st).ID, sec, nanos}
}

func (s *system) fresh(t tree) bool {
	for dir, was := range s.stamps {
		if t.stamp(dir) != was {
			return false
		}
	}
	return true
}
