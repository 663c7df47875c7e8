package sandbox_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
)

// The test binary is also the helpers that start programs.
func TestMain(m *testing.M) {
	sandbox.Main()
	if jptooltest.Announced() {
		fmt.Println("not run: ExampleCmd_Refused: a sandbox around this process is told of its system calls, and only one can be")
		if err := flag.Set("test.skip", "^ExampleCmd_Refused$"); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(m.Run())
}

// A command is confined to a directory: it may read and write there, and nowhere else.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	policy := &jptool.AccessPolicy{FS: []jptool.FsRule{sandbox.Grant("", jptool.AllCaps)}}
	prepared, err := sandbox.Prepare(context.Background(), policy, dir, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	out, err := prepared.Command(context.Background(), "sh", "-c", "echo made here > file; cat file; touch /usr/beside").Output()
	fmt.Printf("%s%v\n", out, err)
	_, err = os.Stat("/usr/beside")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// made here
	// exit status 1
	// true
}

// What the operating system refuses a program can be observed, to find out what its policy lacks.
func ExampleCmd_Refused() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "config"), nil, 0o600); err != nil {
		log.Fatal(err)
	}
	policy := &jptool.AccessPolicy{FS: []jptool.FsRule{sandbox.Grant("", jptool.Read)}}
	prepared, err := sandbox.Prepare(context.Background(), policy, dir, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	cmd := prepared.Command(context.Background(), "sh", "-c", "echo x > config")
	cmd.Explain = true
	fmt.Println(cmd.Run())
	for _, r := range cmd.Refused().Refusals {
		if filepath.Base(r.Path) == "config" {
			fmt.Println(r.Operation, filepath.Base(r.Path), "lacks", r.Lacking)
		}
	}
	// Output:
	// exit status 2
	// write config lacks update
}

// Without starting anything, a preview says what a program would be allowed and what could not be enforced.
func ExampleCmd_Preview() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	policy := &jptool.AccessPolicy{FS: []jptool.FsRule{sandbox.Grant("", jptool.Read), sandbox.Grant("build", jptool.Read|jptool.Write)}}
	prepared, err := sandbox.Prepare(context.Background(), policy, dir, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	attempt, err := prepared.Command(context.Background(), "make").Preview()
	if err != nil {
		attempt, err = prepared.Command(context.Background(), "sh").Preview() // no make here
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range attempt.Narrowed {
		fmt.Println(n.Rule, "became", n.Became)
	}
	// Output:
	// { path = "build", read = true, write = true } became { path = "build", read = true }
}
