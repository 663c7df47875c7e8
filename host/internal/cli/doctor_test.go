package cli

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox/machine"
)

// environment for one command, on top of that of command.
func limited(t *testing.T, limit string, args ...string) (string, string, error) {
	t.Helper()
	var out, errs strings.Builder
	err := Run(t.Context(), []string{"HOME=" + t.TempDir(), machine.LimitVariable + "=" + limit}, strings.NewReader(""), &out, &errs, args)
	return out.String(), errs.String(), err
}

func TestDoctor(t *testing.T) {
	out, errs, err := limited(t, "", "doctor", "--json")
	var d enforcement.Diagnosis
	if json.Unmarshal([]byte(out), &d) != nil || errs != "" || d.OK != (err == nil) || d.System.OS != runtime.GOOS || d.Simulated != "" {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if d.OK && d.Attempt != "works" {
		t.Errorf("all is well although the attempt was: %q", d.Attempt)
	}
	text, errs, err := limited(t, "", "doctor")
	for _, want := range []string{"system      ", "What there is\n  landlock    ", "What enforces the rules of a call", "What is enforced", "What is not enforced"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if d.OK != (err == nil) || errs != "" || strings.Contains(text, "\x1b") {
		t.Errorf("%v, %q\n%q", err, errs, text)
	}
	// A simulated machine is a lesser one, says so, and is never full.
	out, _, err = limited(t, "abi=1,namespaces=no", "doctor", "--json")
	var lesser enforcement.Diagnosis
	if json.Unmarshal([]byte(out), &lesser) != nil || exit.Of(err) != exit.Refused || lesser.OK || lesser.Machine.Landlock > 1 || lesser.Machine.Namespaces ||
		lesser.Simulated != "abi=1, namespaces=no" {
		t.Errorf("%v: %s", err, out)
	}
	if text, _, err = limited(t, "abi=1,namespaces=no", "doctor"); exit.Of(err) != exit.Refused || !strings.Contains(text, "simulated   abi=1, namespaces=no, by "+machine.LimitVariable) ||
		!strings.Contains(text, "What to change") {
		t.Errorf("%v:\n%s", err, text)
	}
	if out, errs, err = limited(t, "namespaces=yes", "doctor"); exit.Of(err) != exit.Usage || out != "" || !strings.Contains(errs, "can only take away") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}
