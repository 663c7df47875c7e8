package sandbox

import "os/exec"

// executable returns path, with the extension that makes it a program. LookPath does no
// search for a path with separators; it tries the extensions of PATHEXT.
func executable(path string) (string, error) { return exec.LookPath(path) }
