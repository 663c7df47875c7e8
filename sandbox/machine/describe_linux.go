package machine

import (
	"math/bits"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func describe(getenv func(string) string) Details { return kernel.describe(getenv) }

func (s *system) describe(getenv func(string) string) Details {
	d := Details{
		OS: runtime.GOOS, Kernel: s.release(), Arch: s.arch, Distribution: s.distribution(),
		AppArmor: s.label(), Filtered: s.filtered(),
	}
	d.Container, d.ContainerBy = s.container(getenv)
	// Kernels before 6.15 do not know the question, and answer EINVAL.
	if errata, err := s.landlock(unix.LANDLOCK_CREATE_RULESET_ERRATA); err == nil {
		for left := uint(errata); left != 0; left &= left - 1 {
			d.Errata = append(d.Errata, bits.TrailingZeros(left)+1)
		}
	}
	return d
}

func whyAttempt(a Attempt) string { return kernel.whyAttempt(a, os.Getenv) }
