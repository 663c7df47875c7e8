//go:build !linux

package machine

import (
	"context"
	"runtime"
	"syscall"

	"github.com/jptools/jptools/host/internal/sandbox"
)

const elsewhere = "tools are held by the operating system on Linux only\nrun jphost in Linux, or keep tools at run = \"ask\""

func lookAlone() Info { return look() }

func look() Info {
	return Info{Machine: sandbox.Machine{Why: map[string]string{Landlock: elsewhere, Seccomp: elsewhere, Namespaces: elsewhere}}}
}

func try(context.Context) Attempt { return Attempt{Step: StepClone, Errno: int(syscall.ENOSYS)} }

func whyAttempt(Attempt) string { return elsewhere }

func describe(func(string) string) Details {
	return Details{OS: runtime.GOOS, Arch: runtime.GOARCH}
}
