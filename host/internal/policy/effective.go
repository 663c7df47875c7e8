package policy

import (
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
)

// FsRules are the fs rules of a tool as Compile reads them, for planning mounts: none where no
// layer declares them, and a rule that denies all where they are declared and none is left.
func FsRules(cfg *config.Config, t *config.Tool) []jptool.FsRule {
	if t.Access == nil || t.Access.FS == nil {
		return nil
	}
	var rules []jptool.FsRule
	for _, r := range effectiveRules(cfg, t) {
		rules = append(rules, r.FsRule)
	}
	if len(rules) == 0 {
		return []jptool.FsRule{{Path: "."}}
	}
	return rules
}
