package baseline

import (
	"debug/elf"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files is a file system: "-> x" is a link, "dir" a directory, anything else the content of a
// file. A path that ends in * is executable, in ! readable by its owner only.
type files map[string]string

func (f files) tree(t testing.TB) tree {
	t.Helper()
	root := t.TempDir()
	for _, key := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(root, strings.TrimRight(key, "*!"))
		mode := os.FileMode(0o644)
		switch {
		case strings.HasSuffix(key, "*"):
			mode = 0o755
		case strings.HasSuffix(key, "!"):
			mode = 0o600
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if to, ok := strings.CutPrefix(f[key], "-> "); ok && err == nil {
			err = os.Symlink(to, path)
		} else if f[key] == "dir" && err == nil {
			if err = os.MkdirAll(path, 0o755); err == nil && mode == 0o600 {
				err = os.Chmod(path, 0o700)
			}
		} else if err == nil {
			err = os.WriteFile(path, []byte(f[key]), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree{root}
}

func with(list ...files) files {
	all := files{}
	for _, f := range list {
		maps.Copy(all, f)
	}
	return all
}

// makeELF is a program with that loader, or a static one.
func makeELF(loader string) string {
	le := binary.LittleEndian
	b := make([]byte, 64+2*56)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 2)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	le.PutUint32(b[64:], 1)
	if loader != "" {
		le.PutUint32(b[64+56:], uint32(elf.PT_INTERP))
		le.PutUint64(b[64+56+8:], uint64(len(b)))
		le.PutUint64(b[64+56+32:], uint64(len(loader)+1))
		b = append(append(b, loader...), 0)
	}
	return string(b)
}

// debian has its directories merged, systemd's resolver, and things to keep away from.
var debian = files{
	"/usr/bin/bash*": makeELF("/lib64/ld-linux-x86-64.so.2"), "/usr/bin/sh": "-> bash", "/usr/bin/env*": makeELF("/lib64/ld-linux-x86-64.so.2"),
	"/usr/bin/python3": "-> python3.11", "/usr/bin/python3.11*": makeELF("/lib64/ld-linux-x86-64.so.2"),
	"/usr/lib64/ld-linux-x86-64.so.2": "-> ../lib/x86_64-linux-gnu/ld-2.36.so", "/usr/lib/x86_64-linux-gnu/ld-2.36.so*": makeELF(""), "/usr/sbin": "dir",
	"/bin": "-> usr/bin", "/sbin": "-> usr/sbin", "/lib": "-> usr/lib", "/lib64": "-> usr/lib64",
	"/etc/ld.so.cache": "", "/etc/ld.so.conf.d": "dir", "/etc/passwd": "", "/etc/group": "", "/etc/shadow!": "", "/etc/gshadow!": "",
	"/etc/sudoers!": "", "/etc/ssh/ssh_host_key!": "", "/etc/nsswitch.conf": "", "/etc/alternatives/awk": "-> /usr/bin/mawk", "/etc/debian_version": "",
	"/etc/localtime": "-> /usr/share/zoneinfo/Etc/UTC", "/usr/share/zoneinfo/Etc/UTC": "", "/etc/python3.11/sitecustomize.py": "",
	"/etc/ssl/certs/ca.crt": "", "/etc/ssl/private/key.pem!": "", "/etc/ssl/openssl.cnf": "",
	"/etc/resolv.conf": "-> ../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf": "", "/etc/hosts": "",
	"/etc/gitconfig!": "[http] extraHeader = secret", "/ws": "dir", "/home/u/.ssh/id_rsa!": "",
}

var debianGrants = []string{
	"/etc/alternatives", "/etc/debian_version", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/nsswitch.conf", "/etc/passwd", "/etc/python3.11",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/usr",
}

var debianLinks = []string{"/bin", "/etc/localtime", "/lib", "/lib64", "/sbin"}

func options() *Options {
	return &Options{Workspace: "/ws", Path: "/usr/local/bin:relative::/usr/bin:/home/u/bin"}
}

func paths(b *Baseline) []string {
	var list []string
	for _, g := range b.Grants {
		list = append(list, g.Path)
	}
	return list
}

// linked are the paths of links.
func linked(b *Baseline) []string {
	var list []string
	for _, l := range b.Links {
		list = append(list, l.Path)
	}
	return list
}
