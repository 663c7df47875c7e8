package baseline

import (
	"os"
	"slices"
	"strings"

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
func (t tree) system(static, network bool) (places []*place) {
	if static && !network {
		return nil
	}
	var names []string
	if !static {
		for _, dir := range systemDirs {
			if p, err := t.way(dir); err == nil && p.Kind == fit.Dir {
				places = append(places, p)
			}
		}
		names = append(names, startNames...)
		entries, _ := os.ReadDir(t.root + "/etc") // what has no version in its name is known without
		for _, e := range entries {
			if slices.ContainsFunc(startPrefixes, func(p string) bool { return strings.HasPrefix(e.Name(), p) }) {
				names = append(names, "/etc/"+e.Name())
			}
		}
	}
	if network {
		names = append(names, netNames...)
	}
	for _, name := range append(names, trust...) {
		// Only what everybody may read: a host that runs as root must not give away what is for root alone.
		p, err := t.way(name)
		if err == nil && (p.Kind == fit.File && p.mode&unix.S_IROTH != 0 || p.Kind == fit.Dir && p.mode&0o005 == 0o005) {
			places = append(places, p)
		}
	}
	return places
}
