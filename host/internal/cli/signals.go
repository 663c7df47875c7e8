package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// Interrupts are the signals that end jphost in good order, and with it what it runs.
func Interrupts() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		list = append(list, syscall.SIGHUP)
	}
	return list
}
