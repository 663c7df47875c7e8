package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
)

// What an answer was given to.
const (
	// OnRun and OnPreview: whether a call, or its preview, may be made.
	OnRun     = "run"
	OnPreview = "preview"
	// OnQuestion: a question of the tool.
	OnQuestion = "question"
	// OnSensitive: that the tool may reach places of secrets.
	OnSensitive = "sensitive"
	// OnApproval: where an external path may lead. Only a no is remembered here.
	OnApproval = "approval"
)

// scope is a digest of the parts.
func scope(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// slot is where an answer for this call is remembered. It counts only while the tool is the
// same program under the same policy.
func (k *call) slot(on, question string) consent.Remembered {
	c := k.Tool.Command
	return consent.Remembered{Tool: k.Tool.Name, On: on, Question: question, Scope: scope(k.report.Policy.Digest, fmt.Sprint(c.Shell), c.Program, strings.Join(c.Args, "\x00"))}
}

// recall finds the answer of an earlier call of this session and reports it.
func (k *call) recall(r consent.Remembered) (consent.Remembered, bool) {
	got, ok := k.Memory.Recall(r)
	if ok {
		k.answered(r.On, r.Question, BySession)
	}
	return got, ok
}

// keep remembers an answer. That it cannot is no reason to stop the call.
func (k *call) keep(ctx context.Context, r consent.Remembered, yes bool) {
	r.Yes = yes
	if err := k.Memory.Remember(ctx, r); err != nil {
		k.warn(fmt.Sprintf("the answer holds for this call only: %v", err))
	}
}

// answered reports by whom something was answered.
func (k *call) answered(on, question, by string) {
	k.report.Answers = append(k.report.Answers, Answered{On: on, Question: question, By: by})
}
