package config

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Options says where the layers come from. A path that is empty stands for no layer.
type Options struct {
	// FS is what all files are read from; nil is the file system of the operating system.
	FS state.FS
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

// UserFile is the user's own file for one workspace, in the state of that workspace.
const UserFile = "config.toml"

// maxFile bounds a configuration file; nobody writes one of this size by hand.
const maxFile = 4 << 20

// UserGlobalPath is where the user's own file lies: jphost/config.toml below
// XDG_CONFIG_HOME, or below ~/.config (on Windows %AppData%) when that is not set to an
// absolute path. It returns "" when the environment names no such place.
func UserGlobalPath(environ []string) string {
	names := []string{"XDG_CONFIG_HOME", "HOME"}
	if runtime.GOOS == "windows" {
		names = []string{"XDG_CONFIG_HOME", "AppData", "HOME"}
	}
	for _, name := range names {
		dir := jptool.LookupEnv(environ, name)
		switch {
		case !filepath.IsAbs(dir):
			continue
		case name == "HOME":
			dir = filepath.Join(dir, ".config")
		}
		return filepath.Join(dir, "jphost", "config.toml")
	}
	return ""
}

// LoadShared returns what all layers but the built-in one withhold from every tool: the patterns of `deny` and
// `sensitive_paths` in the table '*', and its rules on paths. The error is that of [Load].
func LoadShared(o Options) (deny, places []Pattern, err error) {
	l, err := readLayers(o, false)
	if err != nil {
		return nil, nil, err
	}
	d := &decoder{roots: []string{o.Root, o.GivenRoot}}
	d.read(l.layers)
	return slices.Concat(d.patterns(defaultsName, "deny"), d.pathRules()), d.patterns(defaultsName, "sensitive_paths"), d.Err()
}

// Load reads and merges all layers. The error is an settings.Errors with every problem of the
// first layer that has one, or of the merged whole; then there is no Config, because
// part of a configuration may be a part without its restrictions. A file that does not
// exist is no layer; one that exists and cannot be read is an error.
func Load(o Options) (*Config, error) {
	l, err := readLayers(o, true)
	if err != nil {
		return nil, err
	}
	c := &Config{merged: l.merged, layers: l.layers}
	if err := c.decode(o); err != nil {
		return nil, err
	}
	return c, nil
}

// readLayers reads and checks all layers, the built-in one if it is wanted, and merges them.
func readLayers(o Options, shipped bool) (*loader, error) {
	if o.FS == nil {
		o.FS = &afero.OsFs{}
	}
	l := &loader{Options: o, merged: settings.NewTable(settings.Origin{Layer: settings.LayerDefault, File: builtIn})}
	conversation := func() error { return l.file(settings.LayerConversation, l.Conversation, true) }
	steps := []func() error{l.files, l.environment, conversation}
	if shipped {
		steps = slices.Insert(steps, 0, l.builtIn)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, arg := range o.Args {
		if err := l.argument(arg); err != nil {
			return nil, err
		}
	}
	return l, nil
}

type loader struct {
	Options
	merged *settings.Value
	layers []LayerInfo
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
	list := []LayerInfo{{Layer: settings.LayerUserGlobal, File: l.UserGlobal}}
	if l.Root != "" {
		dir := l.Root
		list = append(list,
			LayerInfo{Layer: settings.LayerWorkspace, File: filepath.Join(dir, filepath.FromSlash(WorkspaceFile))},
			LayerInfo{Layer: settings.LayerDirectory, File: filepath.Join(dir, DirectoryFile)})
		below, _ := wspath.WithinAbs(filepath.ToSlash(dir), filepath.ToSlash(filepath.Clean(l.Cwd))) // "" outside
		for part := range strings.FieldsFuncSeq(below, func(r rune) bool { return r == '/' }) {
			dir = filepath.Join(dir, part)
			list = append(list, LayerInfo{Layer: settings.LayerDirectory, File: filepath.Join(dir, DirectoryFile)})
		}
	}
	list = append(list, LayerInfo{Layer: settings.LayerUserWorkspace, File: l.UserWorkspace})
	var stop *settings.Value // the `inherit = false` that ended the loading of files
	for _, f := range list {
		// What a repository says holds for files of the repository only: it must not switch off the user's own.
		if f.File != "" && stop != nil && (f.Layer.Repository() || !stop.Origin.Layer.Repository()) {
			f.Source, f.State, f.Skipper = f.File, Skipped, stop.Origin
			l.layers = append(l.layers, f)
			continue
		}
		if err := l.file(f.Layer, f.File, true); err != nil {
			return err
		}
		if i := l.merged.Get("inherit"); i.Any() == false && stop == nil {
			stop = i
		}
	}
	return nil
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

// read reads the file of a layer. Only a regular file is opened: a FIFO in a repository would block the host
// for ever. A file of the repository must lie in the workspace: a link could otherwise make the host read, and
// quote in messages, any file that the user may read.
func (l *loader) read(layer settings.Layer, path string) ([]byte, error) {
	if err := regular(l.FS, path); err != nil {
		return nil, err
	}
	open := func() (afero.File, error) { return l.FS.Open(path) }
	// A file system without links, in memory, needs no more: there a path means the place that it names.
	if _, links, _ := l.FS.LstatIfPossible(path); links && layer.Repository() {
		// Package afero can neither resolve a path nor open one without following links, so both are done by
		// package wspath: the file is opened where it was found to lie. If somebody replaces it in between, the
		// call fails.
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, gone(err)
		}
		below, ok := wspath.WithinAbs(filepath.ToSlash(l.Root), filepath.ToSlash(real))
		if !ok {
			return nil, errOutside
		}
		open = func() (afero.File, error) { return openBelow(l.Root, below) }
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

// regular says why there is no regular file at a path. A link that leads to nothing is not an absent file:
// whoever creates the file that it names would write the configuration.
func regular(fsys state.FS, path string) error {
	st, err := fsys.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// What exists of the path ends in a directory, or else in such a link.
	for at := path; ; at = filepath.Dir(at) {
		if _, _, lerr := fsys.LstatIfPossible(at); lerr == nil {
			if _, serr := fsys.Stat(at); errors.Is(serr, fs.ErrNotExist) {
				return errors.New("it is, or lies below, a link that leads to nothing")
			}
			return err
		}
		if at == filepath.Dir(at) {
			return err
		}
	}
}

// gone keeps a file that vanished after it was seen from counting as absent.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it vanished while it was read")
	}
	return err
}

// shipped is the built-in layer: one file for each of the seven file tools. Everything in
// them is configuration that a person could have written, and higher layers change any of
// it key by key.
//
// The programs lie beside jphost, or else on PATH. A tool that only reads the workspace
// runs unattended; one that changes it asks. The parameters are those of each program's
// --schema, and a test compares them.
//
//go:embed builtin/*.toml
var shipped embed.FS

// builtIn stands for the file in origins of the built-in layer; lines are those of the
// file of the tool.
const builtIn = "built-in"

// builtIn reads and merges the files of the built-in layer, and makes them one layer.
func (l *loader) builtIn() error {
	files := l.BuiltIn
	if files == nil {
		files = shipped
	}
	names, err := fs.Glob(files, "builtin/*.toml")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		tree, err := ParseLayer(data, settings.LayerDefault, builtIn)
		if err != nil {
			return err
		}
		l.merged = merge(schema(), l.merged, tree)
	}
	l.layers = append(l.layers, LayerInfo{Layer: settings.LayerDefault, Source: builtIn, State: Loaded, tree: l.merged})
	return nil
}
