//go:build !linux

package machine

import (
	"runtime"

	"github.com/jptools/jptools/sandbox/fit"
)

const elsewhere = "tools are held by the operating system on Linux only\nrun jphost in Linux, or keep tools at run = \"ask\""

func lookAlone() Info { return look() }

func look() Info {
	return Info{Machine: fit.Machine{Why: map[string]string{Landlock: elsewhere, Seccomp: elsewhere, Namespaces: elsewhere}}}
}

func whyAttempt(Attempt) string { return elsewhere }

func describe(func(string) string) Details {
	return Details{OS: runtime.GOOS, Arch: runtime.GOARCH}
}
