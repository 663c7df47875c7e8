package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Where something is missing that programs elsewhere have, a call goes on with what there is, or says what is missing
// and what to do.
func TestSandboxWhereSomethingIsMissing(t *testing.T) {
	jphost := filepath.Join(bin, "jphost")
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		under := func(nr int, errno unix.Errno) []string {
			return []string{attackPath(t), "part-refusing", strconv.Itoa(nr), strconv.Itoa(int(errno)), jphost, "sandbox", "exec"}
		}
		t.Run("filters-by-seccomp", func(t *testing.T) {
			w := newWorld(t, user)
			r := w.run(append(under(unix.SYS_SECCOMP, unix.EPERM), "--ro", ".", "--", "echo", "ran")...)
			if r.code != 0 || r.stdout != "ran\n" || !strings.Contains(r.stderr, "not enforced") {
				t.Errorf("%s", r)
			}
		})
		t.Run("waiting-by-waitid", func(t *testing.T) {
			w := newWorld(t, user)
			// Its standard library waits so too, and fails at the end; what matters is that it does not start itself for ever.
			r := w.run(append(under(unix.SYS_WAITID, unix.ENOSYS), "--ro", ".", "--", "echo", "ran")...)
			if r.stdout != "ran\n" {
				t.Errorf("%s", r)
			}
		})
		t.Run("another-listener", func(t *testing.T) {
			needTier(t, user, namespaces)
			w := newWorld(t, user)
			r := w.run(attackPath(t), "part-listening", jphost, "sandbox", "exec", "--rw", ".", "--report", "../report.json", "--", attackPath(t), "tcp-listen")
			report, err := os.ReadFile(w.base + "/report.json")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.stdout, "EAFNOSUPPORT") || !strings.Contains(string(report), `"tier": "namespace"`) ||
				!regexp.MustCompile(`(?s)"unavailable": \[\s*\{\s*"what": \[\s*"loopback",\s*"local sockets"\s*\],\s*"why": "letting calls be announced: device or resource busy"`).Match(report) {
				t.Errorf("%s\n%s", r, report)
			}
		})
		t.Run("open-files", func(t *testing.T) {
			for limit, want := range map[string]string{"8": "jphost needs 16 at least\n  raise the limit: ulimit -n 256", "17": "raise the limit of open files (ulimit -n 256)"} {
				w := newWorld(t, user)
				tier := landlocked
				if limit == "17" {
					if tier = namespaces; user != root {
						continue // not every machine has it for this user
					}
					needTier(t, user, tier)
				}
				r := w.run("sh", "-c", "ulimit -n "+limit+`; exec "$0" "$@"`, jphost, "sandbox", "exec", "--tier", tier, "--", "true")
				if r.code != 3 || !strings.Contains(r.stderr, want) {
					t.Errorf("%s: %s", limit, r)
				}
			}
		})
		t.Run("further-domains", func(t *testing.T) {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/nest": `[ $1 = 0 ] || exec ` + jphost + ` sandbox exec --tier landlock --rw . --ro ` + jphost + ` -- sh nest $(($1-1))` + "\n"})
			if r := w.run("sh", "nest", "20"); r.code == 0 || !strings.Contains(r.stderr, "as many Landlock sandboxes as the kernel allows (16)") {
				t.Errorf("%s", r)
			}
		})
		if user == root {
			for missing, want := range map[string]string{
				"umount -l /proc":          "mount it: mount -t proc proc /proc",
				"mount -t tmpfs none /dev": "there is no /dev/null, which programs need",
			} {
				t.Run(strings.ReplaceAll(missing, " ", "-"), func(t *testing.T) {
					w := newWorld(t, user)
					if r := w.run("unshare", "-m", "true"); r.code != 0 {
						t.Skipf("not run: this root makes no mounts: %s", r)
					}
					r := w.run("unshare", "-m", "sh", "-c", missing+` && exec "$0" "$@"`, jphost, "sandbox", "exec", "--tier", "landlock", "--ro", ".", "--", "true")
					if r.code != 3 || !strings.Contains(r.stderr, want) {
						t.Errorf("%s", r)
					}
				})
			}
		}
	})
}
