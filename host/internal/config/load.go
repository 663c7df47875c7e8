package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// FS is a file system that configuration can be read from. Both the one of the operating
// system (afero.OsFs) and the one in memory (afero.MemMapFs) are such.
type FS interface {
	afero.Fs
	afero.Lstater
}

// Options says where the layers come from. A path that is empty stands for no layer.
type Options struct {
	// FS is what all files are read from; nil is the file system of the operating system.
	FS FS
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
		if v := jptool.LookupEnv(environ, name); filepath.IsAbs(v) {
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

// Load reads and merges all layers. The error is an settings.Errors with every problem of the
// first layer that has one, or of the merged whole; then there is no Config, because
// part of a configuration may be a part without its restrictions. A file that does not
// exist is no layer; one that exists and cannot be read is an error.
func Load(o Options) (*Config, error) {
	if o.FS == nil {
		o.FS = &afero.OsFs{}
	}
	l := &loader{Options: o, merged: settings.NewTable(settings.Origin{Layer: settings.LayerDefault, File: builtIn})}
	conversation := func() error { return l.file(settings.LayerConversation, l.Conversation, true) }
	for _, step := range []func() error{l.builtIn, l.files, l.environment, conversation} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, arg := range o.Args {
		if err := l.argument(arg); err != nil {
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
	merged *settings.Value
	layers []LayerInfo
	// stop is the `inherit = false` that ended the loading of files.
	stop *settings.Value
}

// add checks a layer's tree and merges it.
func (l *loader) add(info LayerInfo, tree *settings.Value) error {
	if err := checkLayer(tree); err != nil {
		return err
	}
	info.State, info.tree = Loaded, tree
	l.layers = append(l.layers, info)
	l.merged = merge(schema(), l.merged, tree)
	if l.merged == nil {
		l.merged = settings.NewTable(settings.Origin{})
	}
	return nil
}

// files are the layers that `inherit = false` can switch off.
func (l *loader) files() error {
	type file struct {
		layer settings.Layer
		path  string
	}
	list := []file{{settings.LayerUserGlobal, l.UserGlobal}}
	if l.Root != "" {
		list = append(list, file{settings.LayerWorkspace, filepath.Join(l.Root, filepath.FromSlash(WorkspaceFile))})
		for _, dir := range downTo(l.Root, l.Cwd) {
			list = append(list, file{settings.LayerDirectory, filepath.Join(dir, DirectoryFile)})
		}
	}
	list = append(list, file{settings.LayerUserWorkspace, l.UserWorkspace})
	for _, f := range list {
		if f.path != "" && l.stopped(f.layer) {
			l.layers = append(l.layers, LayerInfo{Layer: f.layer, Source: f.path, File: f.path, State: Skipped, Skipper: l.stop.Origin})
			continue
		}
		if err := l.file(f.layer, f.path, true); err != nil {
			return err
		}
		if i := l.merged.Get("inherit"); i.Any() == false && l.stop == nil {
			l.stop = i
		}
	}
	return nil
}

// stopped reports whether `inherit = false` keeps a layer out. What a repository says
// holds for files of the repository only: it must not switch off the user's own.
func (l *loader) stopped(layer settings.Layer) bool {
	return l.stop != nil && (layer.Repository() || !l.stop.Origin.Layer.Repository())
}

// downTo lists root and every directory on the way from it to dir, if dir is below it.
func downTo(root, dir string) []string {
	dirs := []string{root}
	rel, ok := wspath.WithinAbs(filepath.ToSlash(root), filepath.ToSlash(filepath.Clean(dir)))
	if !ok || rel == "" {
		return dirs
	}
	for part := range strings.SplitSeq(rel, "/") {
		dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], part))
	}
	return dirs
}

// file adds the layer of one file; an absent one only if that is optional.
func (l *loader) file(layer settings.Layer, path string, optional bool) error {
	if path == "" {
		return nil
	}
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
		return settings.Fail(settings.Origin{Layer: layer, File: path}, "cannot read this configuration: "+settings.Printable(err.Error()), help)
	}
	tree, err := settings.ParseTOML(data, layer, path)
	if err != nil {
		return err
	}
	return l.add(info, tree)
}

var errOutside = errors.New("a link on its path leads out of the workspace")

// read reads the file of a layer. A file of the repository must lie in the workspace: a link
// could otherwise make the host read, and quote in messages, any file that the user may read.
func (l *loader) read(layer settings.Layer, path string) ([]byte, error) {
	if !layer.Repository() {
		return readFile(l.FS, path, func() (afero.File, error) { return l.FS.Open(path) })
	}
	if err := regular(l.FS, path); errors.Is(err, fs.ErrNotExist) {
		return nil, err // as most are; there is nothing to resolve
	}
	if _, links, _ := l.FS.LstatIfPossible(path); !links {
		// A file system without links, in memory: a path means the place that it names.
		return readFile(l.FS, path, func() (afero.File, error) { return l.FS.Open(path) })
	}
	// The operating system's. Package afero can neither resolve a path nor open one without
	// following links, so both are done by package wspath: the file is opened where it was
	// found to lie. If somebody replaces it in between, the call fails.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if serr := regular(l.FS, path); serr != nil {
			err = serr // the same words as for every other layer
		}
		return nil, gone(err)
	}
	below, ok := wspath.WithinAbs(filepath.ToSlash(l.Root), filepath.ToSlash(real))
	if !ok {
		return nil, errOutside
	}
	return readFile(l.FS, real, func() (afero.File, error) { return openBelow(l.Root, below) })
}

// openBelow opens the regular file at the slash path name below the directory dir, without
// following a link, whatever has come to stand on the path in the meantime.
func openBelow(dir, name string) (afero.File, error) {
	d, err := wspath.OpenDir(filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Open(name)
}

var errDangling = errors.New("it is, or lies below, a link that leads to nothing")

// dangling reports whether a path that does not exist, or a directory on the way to it, is
// a link that leads to nothing.
func dangling(fsys FS, path string) bool {
	for {
		if _, _, err := fsys.LstatIfPossible(path); err == nil {
			_, err := fsys.Stat(path)
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
func regular(fsys FS, path string) error {
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
// block the host for ever. A link that leads to nothing is not an absent file: whoever
// creates the file it names would write the configuration.
func readFile(fsys FS, path string, open func() (afero.File, error)) ([]byte, error) {
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

// gone keeps a file that vanished after it was seen from counting as absent.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it vanished while it was read")
	}
	return err
}
