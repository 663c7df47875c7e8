// Package launch starts one local tool, collects what it prints, and makes sure that
// nothing of it is left when the call is over. It also reads the result ([Parse]) and
// builds the environment ([Environment]). It decides nothing about access: it is given
// a finished command, directory and environment.
//
// # Who ends what
//
// On Linux a call is run by a supervisor: this program started a second time (see
// [IsSupervisor]), a child subreaper (prctl PR_SET_CHILD_SUBREAPER) that does nothing
// else. Whatever the tool starts stays below it, also what left its session or was
// orphaned on purpose (setsid, double fork). When the call is over the supervisor kills
// everything below it, again and again, until wait(2) says that nothing is left, and only
// then reports; but for an init of the call's own ([Started]), which is about to end when it says
// that nobody else is left. So a result means that the processes of the call are gone.
//
//	host ──socket──▶ supervisor (own session) ──▶ tool (own session) ──▶ …
//	  ╰──── pipes: standard input, output, error ───╯
//
// The host itself cannot be the subreaper: that is an attribute of a whole process, so
// the orphans of two calls could not be told apart, waiting for them would take exit
// statuses away from os/exec, and nothing would be left to do it when the host dies. The
// supervisor notices the death of the host by the end of its socket, however it died.
//
// A supervisor serves one call at a time, and then the next: a program start is paid for
// once, beside other work if [Launcher.Warm] is called early, and each call costs little
// more than a plain fork and exec. All its calls are of one kind ([Spec]).
//
// # What is not stopped
//
// Without a sandbox a tool has all rights of the user. It can kill the supervisor itself
// (its first process then dies too, what that started does not, and the call fails), and
// it can ask a service to start something for it (systemd, cron, a container engine). A
// program that runs as another user (setuid) may be out of reach: the call fails and says
// so. All of this is the sandbox's part.
//
// Where there are no subreapers ([TreeControl] says so) the tool's process group is killed,
// so what leaves the group survives, as does everything when the host dies.
package launch
