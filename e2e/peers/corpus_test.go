package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Corpus is a tree to work on.
type Corpus struct {
	Name string
	Dir  string
	// Missing says why there is no such tree here; Dir is then "".
	Missing string
}

// Corpora returns the trees, making below dir what is not there yet: a generated tree of
// 200 000 small files, the Go distribution, and the Linux source where the Debian package
// linux-source-6.1 is installed.
func Corpora(dir string) ([]Corpus, error) {
	var list []Corpus
	for _, c := range []struct {
		name string
		make func(dir string) (missing string, err error)
	}{
		{"generated", generate},
		{"go", copyGo},
		{"linux", unpackLinux},
	} {
		corpus := Corpus{Name: c.name, Dir: filepath.Join(dir, c.name)}
		if _, err := os.Stat(corpus.Dir); err != nil {
			// Made under another name, so that a run that was broken off leaves no half tree.
			tmp := corpus.Dir + ".tmp"
			if err := os.RemoveAll(tmp); err != nil {
				return nil, err
			}
			if err := os.MkdirAll(tmp, 0o777); err != nil {
				return nil, err
			}
			if corpus.Missing, err = c.make(tmp); err != nil {
				return nil, fmt.Errorf("corpus %s: %w", c.name, err)
			}
			if corpus.Missing != "" {
				corpus.Dir = ""
				list = append(list, corpus)
				continue
			}
			// Peers honour .gitignore only in a repository.
			if err := os.MkdirAll(filepath.Join(tmp, ".git"), 0o777); err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(tmp, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o666); err != nil {
				return nil, err
			}
			if err := os.Rename(tmp, corpus.Dir); err != nil {
				return nil, err
			}
		}
		list = append(list, corpus)
	}
	return list, nil
}

// generate makes 2 000 packages of 100 small files, some of them ignored, and a big
// ignored directory.
func generate(dir string) (string, error) {
	write := func(path, text string) error {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o666)
	}
	if err := write(".gitignore", "node_modules/\n*.log\n/build/\n*.o\n!keep.log\ntmp*\n"); err != nil {
		return "", err
	}
	filler := strings.Repeat("// some words that nobody looks for, to have a file of usual size\n", 12)
	for p := range 2000 {
		pkg := fmt.Sprintf("src/group%02d/package%04d", p/40, p)
		if p%10 == 0 {
			if err := write(pkg+"/.gitignore", "generated_*.go\n/out/\n"); err != nil {
				return "", err
			}
		}
		for f := range 100 {
			name := fmt.Sprintf("file_%03d.go", f)
			switch {
			case f%25 == 7:
				name = fmt.Sprintf("trace_%03d.log", f)
			case f%25 == 9:
				name = fmt.Sprintf("generated_%03d.go", f)
			case f%25 == 11:
				name = fmt.Sprintf("testdata/case_%03d.txt", f)
			}
			text := fmt.Sprintf("package p%d\n\nfunc F%d() int { return %d }\n%s", p, f, p*100+f, filler[:(p*7+f*13)%len(filler)])
			if p%400 == 3 && f == 50 {
				text += "// RARE_NEEDLE_XYZ\n"
			}
			if err := write(pkg+"/"+name, text); err != nil {
				return "", err
			}
		}
	}
	for m := range 100 {
		for f := range 20 {
			if err := write(fmt.Sprintf("node_modules/module%03d/lib/index%02d.js", m, f), "module.exports = 1\n"); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

func copyGo(dir string) (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" {
		return "no Go distribution", nil
	}
	return "", os.CopyFS(dir, os.DirFS(root))
}

func unpackLinux(dir string) (string, error) {
	const archive = "/usr/src/linux-source-6.1.tar.xz"
	if _, err := os.Stat(archive); err != nil {
		return "the package linux-source-6.1 is not installed", nil
	}
	if out, err := exec.Command("tar", "-xJf", archive, "-C", dir, "--strip-components=1").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	// Debian ignores everything but its own directory.
	path := filepath.Join(dir, ".gitignore")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "/*" && !strings.HasPrefix(line, "!/debian") {
			kept = append(kept, line)
		}
	}
	return "", os.WriteFile(path, []byte(strings.Join(kept, "\n")+"\n"), 0o666)
}
