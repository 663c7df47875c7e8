// Package preset has recipes for whole ecosystems (Go, Node.js, git, …): which places of this machine their programs
// read and write outside of the workspace, which variables they get, and which ports they need if a network is asked
// for by name. Each recipe is one file of presets/.
//
// [Find] looks for the places. Nothing in the workspace is asked: what a repository's files say (.npmrc, a toolchain in
// go.mod) widens nothing. Variables of the person who starts the command count, and so do their own files of settings;
// programs that know them are asked in a sandbox, without a network, and bounded in time. No answer opens a place of
// secrets, or has a program write where the person runs things from later (package places).
package preset

import (
	"bytes"
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/jptools/jptools/jptool/nearest"
)

// Preset is one recipe, as its file has it.
type Preset struct {
	Name string `toml:"-"`
	// Summary is one sentence, Example a command line.
	Summary string `toml:"summary"`
	Example string `toml:"example"`
	// Programs are names of programs that this preset is probably meant for.
	Programs []string `toml:"programs"`
	// Agent: it is for one agent, and says nothing of other programs.
	Agent bool `toml:"agent"`
	// System: also a static program gets what other programs get of the system.
	System bool `toml:"system"`
	// Env are variables that are handed down.
	Env []string `toml:"env"`
	// Set are variables that the program gets where the person has none of the name.
	Set    map[string]string `toml:"set"`
	Ask    []ask             `toml:"ask"`
	Places []place           `toml:"place"`
	// Net is what the preset is granted of the network if it is named with [NetSuffix].
	Net network `toml:"net"`
	// LeftOut is what people may expect here, and why it is not granted.
	LeftOut []LeftOut `toml:"left_out"`
	// Trusts is what is later believed that the program may write.
	Trusts []Trust `toml:"trusts"`
}

// ask is a program that knows where places are. Its lines of output are the answers.
type ask struct {
	Command []string `toml:"command"`
	Answers []string `toml:"answers"`
	// Set are variables that it gets, Env those of the person that it gets too.
	Set map[string]string `toml:"set"`
	Env []string          `toml:"env"`
	// Reads are files of settings that it may read. With Mentions it is asked only if one of them has this word.
	Reads    []string `toml:"reads"`
	Mentions string   `toml:"mentions"`
}

// place is a place outside of the workspace.
type place struct {
	Name string `toml:"name"`
	What string `toml:"what"`
	// Find says where it may be, the first that says anything decides: $NAME is a variable, @ANSWER that of a program,
	// anything else a path. Below is joined to it. What is found is read (and executed).
	Find  []string `toml:"find"`
	Below string   `toml:"below"`
	// Own is the name of a directory of the workspace's own (for agents: of all agents), which is written instead of what
	// Find finds. Net: it is granted if the network was asked for, or was filled so before.
	Own string `toml:"own"`
	Net bool   `toml:"net"`
	// Set are variables that the program gets if the place is granted. {} is the place without what is below, {NAME} that of
	// another place of the preset, {@ANSWER} what a program said, and {$NAME} what the variable is so far, maybe nothing.
	Set map[string]string `toml:"set"`
}

// access is how a place is granted.
type access string

// The values of access.
const (
	read  access = "read"
	write access = "write"
)

// network is what may be reached.
type network struct {
	// Ports are open on any host, because the kernel enforces nothing finer.
	Ports []uint16 `toml:"ports" json:"ports"`
	What  string   `toml:"what" json:"what"`
	Env   []string `toml:"env" json:"-"`
}

// LeftOut is something that a preset does not grant.
type LeftOut struct {
	What string `toml:"what" json:"what"`
	Why  string `toml:"why" json:"why"`
}

// Trust is something that is believed later, and what to do if that is too much.
type Trust struct {
	What    string `toml:"what" json:"what"`
	Instead string `toml:"instead" json:"instead"`
}

//go:embed presets/*.toml
var files embed.FS

// all are the presets, by name. What cannot be read is a bug of this program, which the tests find.
var all = sync.OnceValue(func() []*Preset {
	var list []*Preset
	for _, name := range Names() {
		data, err := files.ReadFile("presets/" + name + ".toml")
		p := &Preset{Name: name}
		if err == nil {
			err = strict(data, p)
		}
		if err != nil {
			panic(fmt.Sprintf("preset %s: %v", name, err))
		}
		list = append(list, p)
	}
	return list
})

// strict reads TOML in which every key is known.
func strict(data []byte, into any) error {
	return toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(into)
}

// All are the presets, by name.
func All() []*Preset { return slices.Clone(all()) }

// NetSuffix follows the name of a preset that is meant with its network.
const NetSuffix = ":net"

// Words are all that can stand where a preset is named: each name alone, and with [NetSuffix].
func Words() (words []string) {
	for _, name := range Names() {
		words = append(words, name, name+NetSuffix)
	}
	return words
}

// Choice is a preset that was named.
type Choice struct {
	*Preset
	// Network: it was named with [NetSuffix].
	Network bool
}

// Word is how the choice is written.
func (c Choice) Word() string {
	if c.Network {
		return c.Name + NetSuffix
	}
	return c.Name
}

// Parse reads names of presets, of which one text may have several with commas. The same preset twice counts once, with
// its network if one of them has it. An error offers the nearest name.
func Parse(texts []string) ([]Choice, error) {
	var list []Choice
	for _, text := range texts {
		for _, word := range strings.Split(text, ",") {
			c, err := parse(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(list, func(o Choice) bool { return o.Preset == c.Preset }); i >= 0 {
				list[i].Network = list[i].Network || c.Network
				continue
			}
			list = append(list, c)
		}
	}
	return list, nil
}

func parse(word string) (Choice, error) {
	name, suffix, _ := strings.Cut(word, ":")
	for _, p := range all() {
		if p.Name == name && (word == name || word == name+NetSuffix) {
			return Choice{p, word != name}, nil
		}
	}
	help := "known are " + strings.Join(Names(), ", ") + "; with a network, as " + Names()[0] + NetSuffix
	near := ""
	if name != "" {
		near = nearest.Word(name, Names())
	}
	switch {
	case slices.Contains(Names(), name) && suffix != "net":
		help = "did you mean " + name + NetSuffix + "? " + help
	case near != "" && strings.Contains(word, ":"):
		help = "did you mean " + near + NetSuffix + "? " + help
	case near != "":
		help = "did you mean " + near + "? " + help
	}
	return Choice{}, fmt.Errorf("there is no preset %q\n%s", word, help)
}

// For is the name of the preset that a program is probably started with, "" for none. A version may follow its name.
func For(program string) string {
	name := filepath.Base(program)
	for _, p := range all() {
		if slices.Contains(p.Programs, name) || slices.Contains(p.Programs, strings.TrimRight(name, ".0123456789")) {
			return p.Name
		}
	}
	return ""
}

// Names are the names of the presets.
func Names() (names []string) {
	entries, err := files.ReadDir("presets")
	if err != nil {
		panic(err) // it is part of this program
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Reaches says what the preset may reach with its network, for people.
func (p *Preset) Reaches() string {
	var ports []string
	for _, port := range p.Net.Ports {
		ports = append(ports, strconv.Itoa(int(port)))
	}
	return fmt.Sprintf("TCP port %s of any host: %s", strings.Join(ports, ", "), p.Net.What)
}
