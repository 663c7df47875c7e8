package term

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
)

// PermitQuestion asks whether a call may be made. No is the default.
type PermitQuestion struct {
	Message
	// Prompt is the line that is answered, as that of BoolQuestion. Shorter says the same in fewer and fewer cells: the
	// first that fits a row takes the place of a Prompt that does not.
	Prompt  string
	Shorter []string
	// Session and Always offer a yes for the rest of the session, and one for good; Lasting says in the host's words what
	// these are a yes to. Edit offers to edit what is asked about.
	Session, Always bool
	Lasting         string
	Edit            bool
	// Full is what v shows, if it is more than the message.
	Full *Message
}

// Choice is the answer to a PermitQuestion.
type Choice int

// The answers. The zero value is no.
const (
	Refuse Choice = iota
	Once
	Session
	Always
	Change
)

// PermitAnswer is a choice and, with a no, the person's reason for it.
type PermitAnswer struct {
	Choice Choice
	Reason string
}

// Permit shows what is asked about and reads the answer. A yes counts only if everything was shown: a long text must
// first be looked at with v.
func (t *Terminal) Permit(ctx context.Context, q PermitQuestion) (answer PermitAnswer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return answer, ErrCancelled
	}
	seen := q.Whole() && (q.Full == nil || q.Full.Whole())
	full := q.Message
	if q.Full != nil {
		full = *q.Full
	}
	hint := q.hint() + " "
	m := q.Message
	for tries := 0; tries < attempts; {
		v := t.view()
		above, question := v.screen(m, nil, q.keys(), q.Prompt, hint)
		for _, shorter := range q.Shorter {
			if !strings.Contains(question, "\n") {
				break
			}
			above, question = v.screen(m, nil, q.keys(), shorter, hint)
		}
		at := strings.LastIndexByte(question, '\n') + 1
		if _, err := io.WriteString(t.out, above+t.bold(question[:at])); err != nil {
			return answer, fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		line, err := t.line(ctx, t.bold(question[at:]))
		if err != nil {
			return answer, err
		}
		answer, look, complaint := q.read(line)
		switch {
		case look:
			all, err := t.page(ctx, full)
			if err != nil {
				return PermitAnswer{}, err
			}
			seen = seen || all
			m = Message{} // what was looked at need not be shown again
			continue
		case complaint == "" && answer.Choice != Refuse && answer.Choice != Change && !seen:
			complaint = "not all of it was shown: look at it with v first"
		case complaint == "":
			return answer, nil
		}
		tries++
		m = Message{}
		fmt.Fprintln(t.out, complaint)
	}
	return PermitAnswer{}, fmt.Errorf("%w: no usable answer", ErrCancelled)
}

// hint is the list of the answers, the default in a capital.
func (q *PermitQuestion) hint() string {
	letters := "y"
	for _, offered := range []struct {
		is     bool
		letter string
	}{{q.Session, "s"}, {q.Always, "a"}, {true, "N"}, {q.Edit, "e"}, {true, "v"}} {
		if offered.is {
			letters += "/" + offered.letter
		}
	}
	return "[" + letters + "]"
}

// keys says what the answers mean. Those that last have a line of their own.
func (q *PermitQuestion) keys() string {
	keys := "y: yes, n: no, n REASON: no, and why, "
	if q.Edit {
		keys += "e: edit, "
	}
	keys += "v: view all"
	var lasting []string
	if q.Session {
		lasting = append(lasting, "s: yes for this session")
	}
	if q.Always {
		lasting = append(lasting, "a: yes for good")
	}
	if lasting == nil {
		return keys
	}
	keys += "\n" + strings.Join(lasting, ", ")
	if q.Lasting != "" {
		keys += " (" + q.Lasting + ")"
	}
	return keys
}

// maxReason bounds the bytes of a reason.
const maxReason = 1 << 10

// read understands a line. look is for v.
func (q *PermitQuestion) read(line string) (answer PermitAnswer, look bool, complaint string) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	reason = strings.TrimSpace(reason)
	switch word = strings.ToLower(word); {
	case word == "", word == "n", word == "no":
		return PermitAnswer{Reason: show.Line(reason[:min(len(reason), maxReason)])}, false, ""
	case reason != "":
	case word == "y", word == "yes":
		return PermitAnswer{Choice: Once}, false, ""
	case word == "s" && q.Session:
		return PermitAnswer{Choice: Session}, false, ""
	case word == "a" && q.Always:
		return PermitAnswer{Choice: Always}, false, ""
	case word == "e" && q.Edit:
		return PermitAnswer{Choice: Change}, false, ""
	case word == "v":
		return answer, true, ""
	}
	return answer, false, "that is none of the answers:"
}
