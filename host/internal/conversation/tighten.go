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

// Tightened returns effective rules without Preserved if another layer than the conversation declares access.fs for
// the tool: what a mount stored must not keep a conversation open that the workspace has since closed.
// fromConversation reports for each index whether the rule comes from the conversation's layer. The
// result may share memory with rules.
func Tightened(rules []jptool.FsRule, fromConversation func(i int) bool) []jptool.FsRule {
	declared := false
	var kept []jptool.FsRule
	for i, r := range rules {
		if own := fromConversation(i); !own || !Preserves(r) {
			declared = declared || !own
			kept = append(kept, r)
		}
	}
	if !declared {
		return rules
	}
	return kept
}
