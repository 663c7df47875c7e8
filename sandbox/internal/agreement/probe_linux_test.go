package agreement

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"golang.org/x/sys/unix"
)

// answer is what came of an operation: "ok" or the name of an error, and what was seen.
type answer struct {
	Result string `json:"result"`
	Seen   string `json:"seen,omitempty"`
}

// attempt does an operation on absolute paths.
func attempt(o op) answer {
	var seen string
	var err error
	if o.Do == "stage" {
		err = stage(o.FD, o.A)
	} else {
		seen, err = operations[o.Do](o.A, o.B)
	}
	if err == nil {
		if seen = strings.TrimPrefix(seen, magic); o.Do == "read" {
			seen = strconv.QuoteToASCII(seen) // JSON takes no bytes
		}
		return answer{"ok", seen}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return answer{unix.ErrnoName(errno), ""}
	}
	return answer{err.Error(), ""}
}

// probe does the operations that it reads, each on a line, and answers with a line.
func probe(in io.Reader, out io.Writer) int {
	d, e := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var o op
		err := d.Decode(&o)
		if err == io.EOF {
			return 0
		}
		if err == nil {
			err = e.Encode(attempt(o))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// confined is a probe that runs under a plan.
type confined struct {
	engine *engine.Engine
	child  *engine.Process
	to     *os.File
	from   *os.File
	e      *json.Encoder
	d      *json.Decoder
}

// start starts a probe.
func start(faults engine.Faults, plan *fit.Plan, binary string) (*confined, error) {
	in, to := must2(os.Pipe())
	from, out := must2(os.Pipe())
	defer in.Close()
	defer out.Close()
	e := engine.New(engine.Options{})
	child, err := e.Start(&engine.Command{
		Plan: plan, Path: binary, Args: []string{probeName}, Env: []string{"GOMAXPROCS=1"}, Dir: "/",
		Stdin: in, Stdout: out, Stderr: os.Stderr, Faults: faults,
	})
	if err != nil {
		_, _ = to.Close(), from.Close()
		return nil, errors.Join(err, e.Close())
	}
	return &confined{e, child, to, from, json.NewEncoder(to), json.NewDecoder(from)}, nil
}

func (c *confined) attempt(o op) (answer, error) {
	var a answer
	err := c.e.Encode(o)
	if err == nil {
		err = c.d.Decode(&a)
	}
	return a, err
}

// end lets the probe end, which it must do well.
func (c *confined) end() error {
	c.to.Close()
	exit, err := c.child.Wait()
	c.from.Close()
	switch closed := c.engine.Close(); {
	case err != nil || closed != nil:
		return errors.Join(err, closed)
	case exit.Code != 0:
		return fmt.Errorf("the probe ended with status %d, signal %d", exit.Code, exit.Signal)
	case exit.Lost != "":
		return fmt.Errorf("%s lost its mount", exit.Lost)
	}
	return nil
}

// runtimeOf is what the probe needs to start.
func runtimeOf(binary string) []fit.Grant {
	f := must(elf.Open(binary))
	defer f.Close()
	paths := []string{binary}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			paths = append(paths, "/usr", "/lib", "/lib64", "/etc/ld.so.cache")
		}
	}
	list := []fit.Grant{{Node: fit.Node{Path: "/proc/self", Kind: fit.Dir}, Caps: jptool.Read}}
	for _, p := range paths {
		if n := must(fit.Look(p)); n.Kind != fit.Missing {
			list = append(list, fit.Grant{Node: n, Caps: jptool.Read | jptool.Execute})
		}
	}
	return list
}

func must2[A, B any](a A, b B, err error) (A, B) {
	do(err)
	return a, b
}
