package launch

// IsSupervisor reports whether the program was started as a supervisor: the command line
// args (os.Args) is then the one name that no person types. A main function asks this
// before anything else:
//
//	if launch.IsSupervisor(os.Args) {
//		os.Exit(launch.Supervise(sandbox.Start))
//	}
//
// It is false where there are no supervisors.
func IsSupervisor(args []string) bool { return isSupervisor(args) }

// Supervise is the life of a supervisor; it returns the exit status when the host has
// closed its socket, or died, and everything below is gone. start serves the calls that
// have a plan; nil refuses them.
func Supervise(start Start) int { return supervise(start) }

// TreeControl returns nil where all processes of a call end with it, whatever they do. Elsewhere
// the error matches errors.ErrUnsupported and says what may survive.
func TreeControl() error { return treeControl() }
