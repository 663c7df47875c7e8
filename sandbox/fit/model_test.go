package fit_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// kernel is a model of what Linux does with a plan: Landlock adds up the rights on a path
// and all above it, a mount over it takes some away, and a mount point stays where it is.
// It is written from the rules of the kernel, not from those of Fit.
type kernel struct {
	plan   *fit.Plan
	rights map[string]jptool.Caps
	covers map[string]fit.Cover
	points map[string]bool
}

func newKernel(p *fit.Plan) *kernel {
	k := &kernel{p, map[string]jptool.Caps{}, map[string]fit.Cover{}, map[string]bool{}}
	for _, g := range append(append([]fit.Grant{}, p.Grants...), p.Runtime...) {
		k.rights[g.Path] |= g.Caps
	}
	if p.Temp != "" {
		k.rights[p.Temp] |= jptool.AllCaps
	}
	if p.Tier != fit.TierNamespace {
		return k
	}
	for _, c := range p.Covers {
		k.covers[c.Path] = c
		k.points[c.Path] = true
	}
	for _, n := range p.Pins {
		k.points[n.Path] = true
	}
	for _, n := range p.Trees {
		k.points[n.Path] = true
	}
	return k
}

func above(p string) []string {
	list := []string{p}
	for p != "/" {
		p = path.Dir(p)
		list = append(list, p)
	}
	return list
}

// on is what can be done with an object at a canonical path.
func (k *kernel) on(p string) jptool.Caps {
	var caps jptool.Caps
	if fi, err := os.Stat(p); k.plan.ABI < 3 && err == nil && fi.Mode().IsRegular() {
		caps = jptool.Update // truncating
	}
	visible := k.plan.Tier != fit.TierNamespace
	for _, q := range above(p) {
		caps |= k.rights[q]
		visible = visible || k.rights[q] != 0
	}
	for _, n := range k.plan.Trees {
		visible = visible || p == n.Path || strings.HasPrefix(p, n.Path+"/")
	}
	if !visible {
		return 0
	}
	if s := k.plan.Scratch; s != "" && fit.Holds(s, p) { // elsewhere in it nothing of the host's is
		caps |= jptool.AllCaps
	}
	for _, q := range above(p) {
		if c, ok := k.covers[q]; ok {
			switch {
			case c.Hide:
				return 0
			case c.ReadOnly:
				caps &^= jptool.Write
			}
			if c.NoExec {
				caps &^= jptool.Execute
			}
			if c.Again {
				return caps
			}
		}
		if _, top := k.tree(q); top {
			break
		}
	}
	return caps
}

// frozen reports whether metadata is held at a path of a private tree.
func (k *kernel) frozen(p string) bool {
	for _, q := range above(p) {
		if c, ok := k.covers[q]; ok && (c.Hide || c.ReadOnly || c.Again) {
			return c.Hide || c.ReadOnly
		}
		if _, top := k.tree(q); top {
			break
		}
	}
	return false
}

// tree is the tree that holds a path, and whether the path is its top.
func (k *kernel) tree(p string) (top string, same bool) {
	for _, n := range k.plan.Trees {
		if p == n.Path || strings.HasPrefix(p, n.Path+"/") {
			return n.Path, p == n.Path
		}
	}
	return "/", p == "/"
}

// content reports whether an existing file or directory can be used so.
// What is executed is read.
func (k *kernel) content(p string, need jptool.Caps) bool {
	if need == jptool.Execute {
		need |= jptool.Read
	}
	return k.on(p).Has(need)
}

// create and delete are rights on the directory; what is mounted on cannot be removed.
func (k *kernel) create(p string) bool {
	fi, err := os.Stat(path.Dir(p))
	return err == nil && fi.IsDir() && k.on(path.Dir(p)).Has(jptool.Create)
}

func (k *kernel) delete(p string) bool {
	return k.on(path.Dir(p)).Has(jptool.Delete) && !k.points[p]
}

// question is one thing that a tool may try.
type question struct {
	path string // workspace-relative
	need jptool.Caps
	abs  string // what it comes to: the content, or the entry
}

// questions lists what can be tried in a workspace: every entry, and a fresh name and a
// fresh directory with a name in each directory.
func questions(root string, links map[string]string) []question {
	var list []question
	var walk func(rel, abs string)
	add := func(rel, abs string) {
		fi, err := os.Lstat(abs)
		if err != nil {
			return
		}
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			if ri, err := os.Stat(real); err == nil {
				list = append(list, question{rel, jptool.Read, real})
				if ri.Mode().IsRegular() {
					list = append(list, question{rel, jptool.Update, real}, question{rel, jptool.Execute, real})
				}
			}
		}
		if !fi.IsDir() || empty(abs) {
			list = append(list, question{rel, jptool.Delete, abs})
		}
		if fi.IsDir() {
			walk(rel, abs)
		}
	}
	walk = func(rel, abs string) {
		entries, _ := os.ReadDir(abs)
		for _, e := range entries {
			add(path.Join(rel, e.Name()), path.Join(abs, e.Name()))
		}
		for _, name := range []string{"fresh", "a", "b", "c", "d"} {
			if _, err := os.Lstat(path.Join(abs, name)); err != nil {
				list = append(list, question{path.Join(rel, name), jptool.Create, path.Join(abs, name)})
			}
		}
	}
	walk("", root)
	for link, target := range links {
		walk(link, target)
	}
	return list
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// answer is what the model of the kernel says.
func (k *kernel) answer(q question) bool {
	switch q.need {
	case jptool.Create:
		return k.create(q.abs)
	case jptool.Delete:
		return k.delete(q.abs)
	}
	return k.content(q.abs, q.need)
}

// check is what the tool's own check says.
func check(ws *jptool.Workspace, q question) bool {
	var err error
	switch q.need {
	case jptool.Create:
		_, err = ws.CheckCreate(q.path)
	case jptool.Delete:
		_, err = ws.CheckDelete(q.path)
	default:
		_, err = ws.CheckContent(q.path, q.need)
	}
	return err == nil
}
