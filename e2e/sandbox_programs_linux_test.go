package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is what people really run: a script of steps, of which each says for itself whether it
// worked.
type program struct {
	name string
	// needs are the programs that must be installed, files what is put below the base, and
	// before a script that is run first, outside of the sandbox.
	needs  string
	files  map[string]string
	before string
	// steps are lines "NAME: COMMAND".
	steps string
	runs  []contained
}

// contained is one run of a program under grants.
type contained struct {
	grants string
	// fails are the steps that are to fail, and no others.
	fails string
	// tier: only there, "" for both.
	tier string
}

// In steps {PORT} stands for a port where somebody listens, {PID} for a process outside; in grants {POLICY}
// for a file with a policy that allows that port, and all in the workspace.
var programs = []program{
	{
		name: "shell", needs: "sh bash sed awk sort find tar",
		steps: `
			pipe: test "$(printf 'b\na\n' | sort | head -n 1)" = a
			document: test "$(cat <<E
$(echo one)
E
)" = one
			long-document: bash -c 'test "$(wc -c <<<$(head -c 200000 /dev/zero | tr "\0" x))" = 200001'
			substitution: bash -c 'diff <(echo a) <(echo a)'
			background: sleep 0.01 & wait $!
			temporary: f=$(mktemp) && echo x >"$f" && sort -S 1M "$f" && rm "$f"
			read: cat docs/guide
			find: find . -name guide | grep -q guide
			redirect: echo x >good/out && cat good/out
			edit: sed -i s/harmless/edited/ good/f && grep -q edited good/f
			archive: tar cf good/a.tar docs && tar xf good/a.tar -C good
			script: good/script.sh
			device: head -c 8 /dev/urandom >/dev/null
			secret: grep -q secret src/private/secret
			outside: cat ../outside/victim.txt
			processes: kill -0 {PID}`,
		files: map[string]string{"ws/good/script.sh": "#!/bin/sh\nexec true\n"},
		runs: []contained{
			{"--rw .", "outside processes", ""},
			{"--ro .", "redirect edit archive outside processes", ""},
			{withheld, "secret outside processes", namespaces},
			// Landlock alone grants each entry of the workspace instead of the workspace.
			{withheld, "find secret outside processes", landlocked},
			{"--ro . --rw good", "outside processes", ""},
			{"--grant path=.,read,write", "script outside processes", ""},
			{"--rw . --ro ../outside", "processes", ""},
		},
	},
	{
		name: "python", needs: "python3",
		steps: `
			compute: python3 -c 'import json, re, math; print(json.dumps(math.pi))'
			write: python3 -c 'open("good/out", "w").write("x")'
			replace: python3 -c 'import os; open("good/a", "w").close(); os.replace("good/a", "good/b")'
			thread: python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'
			child: python3 -c 'import subprocess; subprocess.run(["/bin/true"], check=True)'
			temporary: python3 -c 'import tempfile; tempfile.NamedTemporaryFile().write(b"x")'
			pair: python3 -c 'import socket; a, b = socket.socketpair(); a.send(b"x"); b.recv(1)'
			loop: python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'
			module: python3 -m json.tool good/data.json
			secret: python3 -c 'open("src/private/secret").read()'
			network: python3 -c 'import socket; socket.create_connection(("127.0.0.1", {PORT}), 5)'
			outside: python3 -c 'open("../outside/victim.txt").read()'`,
		files: map[string]string{"ws/good/data.json": "{}\n"},
		runs: []contained{
			{"--rw .", "network outside", ""},
			{"--policy {POLICY}", "outside", ""},
			{"--ro .", "write replace network outside", ""},
			{withheld, "secret network outside", ""},
		},
	},
	{
		name: "node", needs: "node",
		steps: `
			compute: node -e 'JSON.parse("{}"); new Intl.DateTimeFormat()'
			write: node -e 'require("fs").writeFileSync("good/out", "x")'
			promise: node -e 'require("fs").promises.readFile("docs/guide").catch(() => process.exit(1))'
			worker: node -e 'new (require("worker_threads").Worker)("1", {eval: true})'
			child: node -e 'require("child_process").execFileSync("/bin/true")'
			zip: node -e 'require("zlib").gzipSync("x")'
			module: node good/main.js
			secret: node -e 'require("fs").readFileSync("src/private/secret")'
			network: node -e 'require("net").connect({PORT}, "127.0.0.1", () => process.exit(0)).on("error", () => process.exit(1))'
			outside: node -e 'require("fs").readFileSync("../outside/victim.txt")'`,
		files: map[string]string{"ws/good/main.js": "require('./other')\n", "ws/good/other.js": "module.exports = 1\n"},
		runs: []contained{
			{"--rw .", "network outside", ""},
			{"--policy {POLICY}", "outside", ""},
			{withheld, "secret network outside", namespaces},
		},
	},
	{
		name: "python speaking to itself", needs: "python3",
		steps: `
			pool: python3 good/self.py pool
			queue: python3 good/self.py queue
			manager: python3 good/self.py manager
			memory: python3 good/self.py memory
			spawn: python3 good/self.py spawn
			server: python3 good/self.py server
			tests: python3 -m unittest -q good/test_live.py
			local: python3 good/self.py local
			terminal: python3 good/self.py terminal
			hard-coded: f=$(mktemp -p /tmp) && echo x >$f && rm $f
			compute: python3 -c 'print(1)'
			network: python3 -c 'import socket; socket.create_connection(("127.0.0.1", {PORT}), 5)'`,
		files: map[string]string{"ws/good/self.py": selfPython, "ws/good/test_live.py": livePython},
		runs: []contained{
			{"--rw .", "network", namespaces},
			{"--ro .", "local network", namespaces}, // a file in the workspace is to be made
			{"--rw .", "pool queue manager memory spawn server tests local terminal hard-coded network", landlocked},
			{"--rw . --net", "manager spawn server tests local network", namespaces},
		},
	},
	{
		name: "node speaking to itself", needs: "node",
		steps: `
			server: node good/server.js
			local: node good/local.js
			network: node -e 'require("net").connect({PORT}, "127.0.0.1", () => process.exit(0)).on("error", () => process.exit(1))'`,
		files: map[string]string{
			"ws/good/server.js": "const http = require('http')\nconst s = http.createServer((q, r) => r.end('ok')).listen(0, () =>\n" +
				"  http.get('http://localhost:' + s.address().port, r => r.on('data', () => s.close())))\n",
			"ws/good/local.js": "const net = require('net')\nconst s = net.createServer(c => c.end('ok')).listen('good/node.sock', () =>\n" +
				"  net.connect('good/node.sock').on('data', () => s.close()))\n",
		},
		runs: []contained{
			{"--rw .", "network", namespaces},
			{"--rw .", "server local network", landlocked},
		},
	},
	{
		name: "make", needs: "make gcc",
		steps: `
			build: make -s hello
			run: make -s hello && ./hello
			object: make -s good/part.o
			library: make -s good/libpart.so
			temporary: make -s TO="$TMPDIR/" "$TMPDIR/hello" && "$TMPDIR/hello"
			clean: rm -f hello`,
		files: map[string]string{
			"ws/Makefile": "CC = gcc\n$(TO)hello: good/hello.c\n\t$(CC) -o $@ $<\ngood/part.o: good/hello.c\n\t$(CC) -c -o $@ $<\n" +
				"good/libpart.so: good/hello.c\n\t$(CC) -shared -fPIC -o $@ $<\n",
			"ws/good/hello.c": "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n",
		},
		runs: []contained{
			{"--rw .", "", ""},
			// Landlock alone holds no metadata, so that where nothing may be written no mode is
			// changed anywhere, not in the private directory either: the linker does that last.
			{"--ro .", "build run object library temporary", landlocked},
			{"--ro .", "build run object library", namespaces},
			{"--ro . --rw good", "build run", ""},
			{"--grant path=.,read,write", "run", ""},
			{"--rw . --grant path=good,read,execute", "object library", namespaces},
		},
	},
	{
		name: "git", needs: "git",
		before: `
			git init -q -b main && git config user.name e2e && git config user.email e2e@example.org &&
			git add docs good && git commit -q -m first && echo more >>docs/guide && echo new >good/new`,
		steps: `
			status: git status --porcelain | grep -q docs/guide
			log: git log --oneline | grep -q first
			diff: git diff | grep -q more
			add: git add docs good
			commit: git commit -q -m second
			branch: git checkout -q -b other
			merge: git checkout -q main && git merge -q other
			stash: echo x >>good/f && git stash -q && git stash pop -q
			collect: git gc -q
			verify: git fsck --no-progress`,
		runs: []contained{
			{"--rw .", "", ""},
			{"--ro .", "add commit branch merge stash collect", ""},
			{"--rw . --grant path=.git/refs,read", "commit branch merge stash collect", namespaces},
		},
	},
	{
		name: "git settings", needs: "git",
		before: `git init -q -b main && git config user.name e2e`,
		steps: `
			get: git config user.name
			set: git config user.name owned
			remote: git remote add origin /nowhere
			hook: echo '#!/bin/sh' >.git/hooks/pre-commit
			add: git add docs`,
		runs: []contained{{"--rw .", "set remote hook", namespaces}},
	},
}

// selfPython speaks to itself in one way; livePython is a test with a server of its own.
const (
	selfPython = `import multiprocessing, os, pty, socket, sys, threading, urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler
from multiprocessing import shared_memory

def double(x): return 2 * x
def put(q): q.put(os.getpid())

def pool():
    with multiprocessing.Pool(2) as p: assert p.map(double, range(3)) == [0, 2, 4]
def queue():
    q = multiprocessing.Queue()
    p = multiprocessing.Process(target=put, args=(q,))
    p.start(); assert q.get(timeout=20) == p.pid; p.join()
def manager():
    with multiprocessing.Manager() as m:
        d = m.dict(); d["a"] = 1; assert dict(d) == {"a": 1}
def memory():
    s = shared_memory.SharedMemory(create=True, size=16); s.buf[0] = 1; s.close(); s.unlink()
def spawn():
    for way in "spawn", "forkserver":
        with multiprocessing.get_context(way).Pool(1) as p: assert p.map(double, [1]) == [2]
def server():
    s = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    assert urllib.request.urlopen("http://localhost:%d/" % s.server_port, timeout=20).status == 200
def local():
    for name in "good/self.sock", "\0self", os.environ["TMPDIR"] + "/self.sock":
        s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
        c = socket.socket(socket.AF_UNIX); c.connect(name); c.send(b"x")
        assert s.accept()[0].recv(1) == b"x"
def terminal():
    assert pty.spawn(["sh", "-c", "test -t 1 && tty | grep -q /dev/pts/"]) == 0

if __name__ == "__main__": globals()[sys.argv[1]]()
`
	livePython = `import threading, unittest, urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler

class Live(unittest.TestCase):
    def setUp(self):
        self.server = HTTPServer(("localhost", 0), SimpleHTTPRequestHandler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
    def tearDown(self): self.server.shutdown(); self.server.server_close()
    def test_index(self):
        with urllib.request.urlopen("http://localhost:%d/" % self.server.server_port, timeout=20) as r:
            self.assertEqual(r.status, 200)
`
)

// step is the prelude of a script: it says of each step how it went.
const step = "step() { name=$1; shift; if (eval \"$1\") >/dev/null; then echo \"$name ok\"; else echo \"$name failed\"; fi; }\n"

// script is the steps of a program as a script for a shell, and their names.
func (p *program) script(w *world, e *ears, v *victim) (text string, names []string) {
	text = step
	rest := strings.NewReplacer("{PORT}", e.port, "{PID}", strings.Join(w.fill("{PID}", v, nil, nil), "")).Replace(p.steps)
	for _, line := range strings.Split(rest, "\n\t\t\t") {
		name, command, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		names = append(names, name)
		text += "step " + name + " '" + strings.ReplaceAll(command, "'", `'\''`) + "'\n"
	}
	return text, names
}

// went checks that of all steps exactly these failed.
func went(t *testing.T, r ran, names []string, fails string) {
	t.Helper()
	want := ""
	for _, name := range names {
		word := "ok"
		if slices.Contains(strings.Fields(fails), name) {
			word = "failed"
		}
		want += name + " " + word + "\n"
	}
	if len(names) == 0 || r.code != 0 || r.stdout != want {
		t.Errorf("%s\nwant:\n%s", r, want)
	}
}

// missing are the programs that are not installed.
func missing(w *world, needs string) (names []string) {
	for _, name := range strings.Fields(needs) {
		if w.run("/bin/sh", "-c", "command -v "+name).code != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Programs that people run work under grants that suffice, and where one is lacking just that fails
// for which it is needed.
func TestSandboxPrograms(t *testing.T) {
	for i := range programs {
		p := &programs[i]
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			eachUser(t, func(t *testing.T, user string) {
				if names := missing(newWorld(t, user), p.needs); len(names) > 0 {
					t.Skipf("not run: not installed: %s", strings.Join(names, ", "))
				}
				try := func(t *testing.T, tier, grants, fails string) {
					w := newWorld(t, user)
					w.files(p.files)
					w.files(map[string]string{"tmp/x": ""})
					w.env = append(w.env, "TMPDIR="+w.base+"/tmp")
					if err := scripts(w.root + "/good"); err != nil {
						t.Fatal(err)
					}
					if p.before != "" {
						if r := w.run("/bin/sh", "-c", p.before); r.code != 0 {
							t.Fatalf("preparing: %s", r)
						}
					}
					e := w.listen()
					w.files(map[string]string{"policy.json": `{"fs": [{"path": ".", "read": true, "write": true, "execute": true}],
						"net": [{"host": "127.0.0.1", "port": ` + e.port + `, "allow": true}]}`})
					text, names := p.script(w, e, w.victim())
					list := strings.Fields(strings.ReplaceAll(grants, "{POLICY}", w.base+"/policy.json"))
					r := w.exec(tier, list, "/bin/sh", "-c", text)
					went(t, r, names, fails)
				}
				try(t, uncontained, "", "")
				for _, c := range p.runs {
					t.Run(strings.NewReplacer(" ", "_", "{", "", "}", "").Replace(c.grants), func(t *testing.T) {
						for _, tier := range []string{landlocked, namespaces} {
							if c.tier != "" && c.tier != tier {
								continue
							}
							t.Run(tier, func(t *testing.T) {
								needTier(t, user, tier)
								fails := c.fails
								if abi, _ := landlock(); abi < 6 && tier == landlocked {
									fails = strings.ReplaceAll(fails, "processes", "") // signals are said not to be held
								}
								try(t, tier, c.grants, fails)
							})
						}
					})
				}
			})
		})
	}
}

// scripts makes the scripts in a directory executable.
func scripts(dir string) error {
	list, err := filepath.Glob(dir + "/*.sh")
	for _, name := range list {
		if err == nil {
			err = os.Chmod(name, 0o755)
		}
	}
	return err
}

const serverTest = `package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, word()) }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(r.Body); string(b) != "hello" {
		t.Errorf("%q", b)
	}
}
`

// The Go tools build and test with a cache that is warm, as whoever runs the tests.
func TestSandboxGo(t *testing.T) {
	user := root
	if os.Geteuid() != 0 {
		user = "ordinary"
	}
	variable := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	goroot, cache := variable("GOROOT"), variable("GOCACHE")
	try := func(t *testing.T, tier, grants, fails string) {
		w := newWorld(t, user)
		w.files(map[string]string{
			"ws/go.mod":        "module example.org/hello\n\ngo 1.26\n",
			"ws/hello.go":      "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(word()) }\n\nfunc word() string { return \"hello\" }\n",
			"ws/hello_test.go": "package main\n\nimport \"testing\"\n\nfunc TestWord(t *testing.T) {\n\tif word() != \"hello\" {\n\t\tt.Error(word())\n\t}\n}\n",
		})
		w.files(map[string]string{"tmp/x": "", "ws/server_test.go": serverTest})
		w.program("/bin/true", "ws/good/tool")
		w.env = append(w.env, "TMPDIR="+w.base+"/tmp", "PATH="+goroot+"/bin:/usr/bin:/bin", "GOCACHE="+cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOTELEMETRY=off")
		p := program{steps: `
			build: go build -o hello .
			run: good/tool
			go-run: go run .
			test: go test -count=1 -run Word .
			server: go test -count=1 -run Server .
			secret: cat src/private/secret`}
		text, names := p.script(w, &ears{}, &victim{})
		list := strings.Fields(strings.NewReplacer("{GOROOT}", goroot, "{GOCACHE}", cache).Replace(grants))
		r := w.exec(tier, list, "/bin/sh", "-c", text)
		went(t, r, names, fails)
	}
	const tools = " --ro {GOROOT} --rw {GOCACHE} --env GO*"
	try(t, uncontained, "", "")
	eachTier(t, user, func(t *testing.T, tier string) {
		none := "" // there is a loopback
		if tier == landlocked {
			none = " server"
		}
		try(t, tier, "--rw ."+tools, none)
		try(t, tier, "--ro ."+tools, "build"+none)
		try(t, tier, "--grant path=.,read,write"+tools, "run"+none)
		if tier == namespaces { // Landlock alone could not let the workspace be listed
			try(t, tier, withheld+tools, "secret")
		}
	})
}
