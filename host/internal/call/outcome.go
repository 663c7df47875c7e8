package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

// endsBytes is how much of each end of a stream a failure shows.
const endsBytes = 4 << 10

// output is what a tool that ended by itself means by what it printed.
type output struct {
	jptool.Outcome
	// Plain says that the tool printed plain text, not an Outcome.
	Plain bool
}

func (o *output) success() bool { return o.Err == nil && len(o.Questions) == 0 }

// readOutput reads the output of a tool. A complete Outcome counts, whatever the exit status. A broken one is an error
// that says what is wrong with it, never text. Everything else is plain text: a success with exit status 0, and
// otherwise an error with the ends of both streams. Bytes of text that are not UTF-8 become U+FFFD.
func readOutput(stdout, stderr []byte, ended Ended) output {
	o, err := jptool.DecodeOutcome(stdout)
	switch {
	case err == nil:
		return output{Outcome: o}
	case !errors.Is(err, jptool.ErrNoOutcome):
		return output{Outcome: failure("the tool printed a broken result: "+err.Error(), stdout, stderr, ended)}
	case ended.Code == 0 && ended.Signal == "":
		return output{Outcome: jptool.Outcome{Content: strings.ToValidUTF8(string(stdout), "\ufffd")}, Plain: true}
	}
	return output{Outcome: failure("the tool failed: "+ended.String(), stdout, stderr, ended), Plain: true}
}

// failure is the Outcome of a tool that did not print one. It has no code.
func failure(message string, stdout, stderr []byte, ended Ended) jptool.Outcome {
	ends := struct {
		Exit   string `json:"exit"`
		Stderr string `json:"stderr"`
		Stdout string `json:"stdout"`
	}{ended.String(), bothEnds(stderr, endsBytes), bothEnds(stdout, endsBytes)}
	data, err := json.Marshal(ends)
	if err != nil {
		panic(err) // three strings
	}
	message = strings.ReplaceAll(message, "\n", "; ") // of joined errors
	for _, s := range []struct{ name, text string }{{"standard error", ends.Stderr}, {"standard output", ends.Stdout}} {
		if text := strings.TrimRight(s.text, " \t\r\n"); text != "" {
			message += "\n" + s.name + ":\n" + text
		}
	}
	return jptool.Outcome{Err: &jptool.Error{Message: message, Data: json.RawMessage(data)}}
}

// rawData is the data of an Outcome that was read.
func rawData(data any) json.RawMessage {
	raw, _ := data.(json.RawMessage)
	return raw
}

// bothEnds returns text as it is, or its beginning and its end with a note on what was left
// out when it is longer than most bytes. The end is the longer part: that is where
// programs say what went wrong. The result is valid UTF-8, with U+FFFD for what is not.
func bothEnds(text []byte, most int) string {
	s := strings.ToValidUTF8(string(text), "\ufffd")
	if min(len(text), len(s)) <= most {
		return s
	}
	head, tail := most/4, len(s)-(most-most/4)
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", s[:head], tail-head, s[tail:])
}
