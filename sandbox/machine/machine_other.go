//go:build !linux

package machine

import (
	"runtime"

	"github.com/jptools/jptools/sandbox/fit"
)

const elsewhere = "tools are held by the operating system on Linux only\nrun jphost in Linux, or keep tools at run = \"ask\""

type system struct{}

var kernel system

func (s system) alone() Info { return s.look() }

func (system) look() Info {
	return Info{Machine: fit.Machine{Why: map[string]string{Landlock: elsewhere, Seccomp: elsewhere, Namespaces: elsewhere}}}
}

func (system) whyAttempt(Attempt, func(string) string) string { return elsewhere }

func (system) describe(func(string) string) Details {
	return Details{OS: runtime.GOOS, Arch: runtime.GOARCH}
}
