package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/jptools/jptools/host/internal/disk"
	"github.com/jptools/jptools/jptool/wspath"
)

// Options says where the layers come from. A path that is empty stands for no layer.
type Options struct {
	// FS is what all files are read from; nil is the operating system's.
	FS disk.FS
	// Root is the canonical path of the workspace, Cwd the canonical working directory.
	// A Cwd outside of Root adds no file.
	Root, Cwd string
	// GivenRoot is the workspace as the user spelled it; absolute paths of rules may
	// lie below either.
	GivenRoot string
	// BuiltIn holds the built-in layer as files builtin/*.toml; nil is the one that jphost
	// ships, the seven file tools.
	BuiltIn fs.FS
	// UserGlobal, UserWorkspace and Conversation are the files of these layers. They
	// need not exist.
	UserGlobal, UserWorkspace, Conversation string
	// Environ is the environment as KEY=VALUE; of it JP_CFG_* is read, and HOME for Args.
	Environ []string
	// Args are the values of --cfg, in order.
	Args []string
}

// File names of the repository's layers.
const (
	WorkspaceFile = ".jp/config.toml"
	DirectoryFile = ".jp.toml"
)

// maxFile bounds a configuration file; nobody writes one of this size by hand.
const maxFile = 4 << 20

// UserGlobalPath is where the user's own file lies: jphost/config.toml below
// XDG_CONFIG_HOME, or below ~/.config (on Windows %AppData%) when that is not set to an
// absolute path. It returns "" when the environment names no such place.
func UserGlobalPath(environ []string) string {
	get := func(name string) string {
		if v := Lookup(environ, name); filepath.IsAbs(v) {
			return v
		}
		return ""
	}
	dir := get("XDG_CONFIG_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = get("AppData")
	}
	if home := get("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "jphost", "config.toml")
}

// Load reads and merges all layers. The error is an Errors with every problem of the
// first layer that has one, or of the merged whole; then there is no Config, because
// part of a configuration may be a part without its restrictions. A file that does not
// exist is no layer; one that exists and cannot be read is an error.
func Load(o Options) (*Config, error) {
	if o.FS == nil {
		o.FS = disk.OS
	}
	l := &loader{Options: o, merged: newTable(Origin{Layer: LayerDefault, File: builtIn})}
	steps := []func() error{l.builtIn, l.files, l.environment, l.conversation, l.arguments}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c := &Config{merged: l.merged, layers: l.layers}
	if err := c.decode(o); err != nil {
		return nil, err
	}
	return c, nil
}

type loader struct {
	Options
	merged *Value
	layers []LayerInfo
	// stop is the `inherit = false` that ended the loading of files.
	stop *Value
}

// add checks a layer's tree and merges it.
func (l *loader) add(info LayerInfo, tree *Value) error {
	if err := checkLayer(tree); err != nil {
		return err
	}
	info.State, info.tree = Loaded, tree
	l.layers = append(l.layers, info)
	l.merged = merge(schema(), l.merged, tree)
	if l.merged == nil {
		l.merged = newTable(Origin{})
	}
	return nil
}

type layerFile struct {
	layer Layer
	path  string
}

// files are the layers that `inherit = false` can switch off.
func (l *loader) files() error {
	list := []layerFile{{LayerUserGlobal, l.UserGlobal}}
	if l.Root != "" {
		list = append(list, layerFile{LayerWorkspace, filepath.Join(l.Root, filepath.FromSlash(WorkspaceFile))})
		for _, dir := range downTo(l.Root, l.Cwd) {
			list = append(list, layerFile{LayerDirectory, filepath.Join(dir, DirectoryFile)})
		}
	}
	list = append(list, layerFile{LayerUserWorkspace, l.UserWorkspace})
	for _, f := range list {
		if f.path == "" {
			continue
		}
		if l.stopped(f.layer) {
			l.layers = append(l.layers, LayerInfo{Layer: f.layer, Source: f.path, File: f.path, State: Skipped, Skipper: l.stop.Origin})
			continue
		}
		if err := l.file(f.layer, f.path, true); err != nil {
			return err
		}
		if i := l.merged.Get("inherit"); i != nil && !i.flag && l.stop == nil {
			l.stop = i
		}
	}
	return nil
}

// stopped reports whether `inherit = false` keeps a layer out. What a repository says
// holds for files of the repository only: it must not switch off the user's own.
func (l *loader) stopped(layer Layer) bool {
	return l.stop != nil && (layer.Repository() || !l.stop.Origin.Layer.Repository())
}

// downTo lists root and every directory on the way from it to dir, if dir is below it.
func downTo(root, dir string) []string {
	dirs := []string{root}
	rel, err := filepath.Rel(root, dir)
	if dir == "" || err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return dirs
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], part))
	}
	return dirs
}

// file adds the layer of one file; an absent one only if that is optional.
func (l *loader) file(layer Layer, path string, optional bool) error {
	info := LayerInfo{Layer: layer, Source: path, File: path}
	data, err := l.read(layer, path)
	if err != nil {
		if optional && errors.Is(err, fs.ErrNotExist) {
			info.State = Absent
			l.layers = append(l.layers, info)
			return nil
		}
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		help := "make it a readable file, or remove it"
		switch {
		case errors.Is(err, syscall.ENOTDIR):
			help = "a file stands where one of its directories should be: move that file away"
		case errors.Is(err, fs.ErrPermission):
			help = "see that you may read it and enter the directories on its path"
		case errors.Is(err, errOutside):
			help = "copy the file into the workspace, or write its settings into your own configuration"
		}
		return Errors{{
			Origin{Layer: layer, File: path},
			"cannot read this configuration: " + printable(err.Error()),
			help,
		}}
	}
	tree, err := parseTOML(data, layer, path)
	if err != nil {
		return err
	}
	return l.add(info, tree)
}

var errOutside = errors.New("a link on its path leads out of the workspace")

// read reads the file of a layer. That of a repository must lie in the workspace: a link could
// otherwise make the host read and quote any file of the user's. It is opened where it was found to lie,
// following nothing, so that who replaces it in between only makes the call fail.
func (l *loader) read(layer Layer, path string) ([]byte, error) {
	if !layer.Repository() {
		return readFile(l.FS, path, func() (disk.File, error) { return l.FS.OpenFile(path, os.O_RDONLY, 0) })
	}
	if err := regular(l.FS, path); errors.Is(err, fs.ErrNotExist) {
		return nil, err // as most are, with nothing on the way to be resolved
	}
	real, err := l.FS.EvalSymlinks(path)
	if err != nil {
		if serr := regular(l.FS, path); serr != nil {
			err = serr // says it as for every other layer
		}
		return nil, err
	}
	below, ok := wspath.WithinAbs(filepath.ToSlash(l.Root), filepath.ToSlash(real))
	if !ok {
		return nil, errOutside
	}
	return readFile(l.FS, real, func() (disk.File, error) { return l.FS.OpenBelow(l.Root, below) })
}

var errDangling = errors.New("it is, or lies below, a link that leads to nothing")

// dangling reports whether a path that does not exist, or a directory on the way to it, is
// a link that leads to nothing.
func dangling(fsys disk.FS, path string) bool {
	for {
		if _, err := fsys.Lstat(path); err == nil {
			_, err = fsys.Stat(path)
			return errors.Is(err, fs.ErrNotExist)
		}
		dir := filepath.Dir(path)
		if dir == path {
			return false
		}
		path = dir
	}
}

// regular says why there is no regular file at a path.
func regular(fsys disk.FS, path string) error {
	st, err := fsys.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && dangling(fsys, path) {
			return errDangling
		}
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return nil
}

// readFile reads a regular file. Nothing else is opened: a FIFO in a repository would
// hold the host for ever. Where a link leads to nothing there is no absent file: whoever
// makes what it leads to would make the configuration.
func readFile(fsys disk.FS, path string, open func() (disk.File, error)) ([]byte, error) {
	if err := regular(fsys, path); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, gone(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is longer than %d MiB", maxFile>>20)
	}
	return data, gone(err)
}

// gone keeps a file that vanished after it was seen from counting as never there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it vanished while it was read")
	}
	return err
}

func (l *loader) conversation() error {
	if l.Conversation == "" {
		return nil
	}
	return l.file(LayerConversation, l.Conversation, true)
}
