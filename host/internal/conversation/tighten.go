package conversation

import "github.com/jptools/jptools/jptool"

// Preserved is the rule that keeps what a tool without rules could do in the workspace before a mount
// declared its access.fs (RFD D43, "Default-deny preservation"). Execute is our addition: our
// default for an undeclared type grants it, and scripts and built programs must keep working.
func Preserved() jptool.FsRule {
	yes := true
	return jptool.FsRule{Path: ".", Read: &yes, Write: &yes, Execute: &yes}
}

// Preserves reports whether a rule of the conversation does what Preserved does.
func Preserves(r jptool.FsRule) bool {
	keep := Preserved()
	return !r.External && (r.Path == "." || r.Path == "") && r.Caps() == keep.Caps()
}
