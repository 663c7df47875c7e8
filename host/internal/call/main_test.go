package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/sandbox"
)

// The test binary is the host, its supervisor, and the tools. The latter do not end by os.Exit, which
// takes a second under the race detector.
func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		syscall.Exit(tool(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// received is a request as a tool reads it.
type received struct {
	Context struct {
		Root   string          `json:"root"`
		Action string          `json:"action"`
		Access json.RawMessage `json:"access"`
	} `json:"context"`
	Tool struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
		Answers   map[string]any `json:"answers"`
		Options   map[string]any `json:"options"`
	} `json:"tool"`
}

// tool is what runs below the supervisor: one small tool for each way to behave.
func tool(kind string, args []string) int {
	var req received
	raw, _ := io.ReadAll(os.Stdin)
	_ = json.Unmarshal(raw, &req)
	switch kind {
	case "echo": // says what it was asked, in text and as data
		answer(map[string]any{"type": "success", "content": req.Context.Action, "data": json.RawMessage(raw)})
	case "words": // prints its command line
		fmt.Println(len(raw), args)
	case "text": // plain text and an exit status
		fmt.Println("some text")
		fmt.Fprintln(os.Stderr, "some complaint about "+args[1])
		code, _ := strconv.Atoi(args[0])
		return code
	case "print": // whatever it is told
		fmt.Print(args[0])
	case "complain": // on standard error, and goes on
		fmt.Fprintln(os.Stderr, args[0])
		time.Sleep(time.Minute)
	case "much": // a long text
		fmt.Print(long(args[0]))
	case "ask": // asks about the file `state`, bound to its content
		question := map[string]any{"id": "go", "text": "Go on?", "pre_amble": nil, "answer_type": "Boolean", "default": nil}
		if words, err := os.ReadFile("words"); err == nil {
			question["text"] = string(words)
		}
		if len(args) == 0 {
			state, _ := os.ReadFile("state")
			sum := sha256.Sum256(state)
			question["token"] = hex.EncodeToString(sum[:])
		}
		yes, ok := req.Tool.Answers["go"].(bool)
		if token := req.Tool.Answers["go.token"]; !ok || token != question["token"] {
			answer(map[string]any{"type": "needs_input", "question": question})
			return 0
		}
		answer(map[string]any{"type": "success", "content": fmt.Sprint("go: ", yes)})
	case "select", "line": // asks for something else than yes or no
		kind := map[string]any{"select": map[string]any{"Select": map[string]any{"options": []string{"red", "blue"}}}, "line": "Text"}[kind]
		if v, ok := req.Tool.Answers["what"]; ok {
			answer(map[string]any{"type": "success", "content": v})
			return 0
		}
		answer(map[string]any{"type": "needs_input", "question": map[string]any{"id": "what", "text": "What?", "pre_amble": nil, "answer_type": kind, "default": nil}})
	case "edit": // previews, and asks whether to apply; args: preview, text, default and token of the question, its token in the preview
		def, _ := strconv.ParseBool(args[2])
		question := func(token string) map[string]any {
			return map[string]any{"id": "apply", "text": long(args[1]), "pre_amble": nil, "answer_type": "Boolean", "default": def, "token": token}
		}
		if req.Context.Action == "format_arguments" {
			answer(map[string]any{"type": "success", "content": long(args[0]), "data": map[string]any{"questions": []any{question(args[4])}}})
			return 0
		}
		yes, ok := req.Tool.Answers["apply"].(bool)
		if token := req.Tool.Answers["apply.token"]; ok && (token == nil || token == args[3]) {
			answer(map[string]any{"type": "success", "content": fmt.Sprint("applied: ", yes)})
			return 0
		}
		answer(map[string]any{"type": "needs_input", "question": question(args[3])})
	case "several": // asks for all of its arguments, in one round
		var open []any
		for _, id := range args {
			if id, text := strings.TrimSuffix(id, "?"), strings.HasSuffix(id, "?"); req.Tool.Answers[id] == nil {
				kind := map[bool]string{true: "Text", false: "Boolean"}[text]
				open = append(open, map[string]any{"id": id, "text": "About " + id, "pre_amble": "The diff.", "answer_type": kind, "default": nil, "token": "of " + id})
			}
		}
		if len(open) > 0 {
			answer(map[string]any{"type": "needs_input", "question": open[0], "questions": open})
			return 0
		}
		raw, _ := json.Marshal(req.Tool.Answers)
		answer(map[string]any{"type": "success", "content": string(raw)})
	case "bound": // previews the file `state`, and does what was shown or asks again
		found, _ := os.ReadFile("state")
		token := "sha256:" + string(found)
		if req.Context.Action == "format_arguments" {
			answer(map[string]any{"type": "success", "content": "would find " + string(found), "data": map[string]any{"token": token}})
			return 0
		}
		yes, bound := req.Tool.Answers["preview"].(bool)
		switch {
		case bound && req.Tool.Answers["preview.token"] != token, !bound && len(args) > 0:
			answer(map[string]any{"type": "needs_input", "question": map[string]any{
				"id": "preview", "text": "It has changed. Go on?", "pre_amble": "would find " + string(found), "answer_type": "Boolean", "default": false, "token": token,
			}})
		case bound && !yes:
			answer(map[string]any{"type": "error", "message": "declined", "trace": []string{}, "transient": false, "code": "declined"})
			return 1
		default:
			answer(map[string]any{"type": "success", "content": "did find " + string(found)})
		}
	case "again": // is never content
		answer(map[string]any{"type": "needs_input", "question": map[string]any{
			"id": "go", "text": "Again?", "pre_amble": nil, "answer_type": "Boolean", "default": nil, "token": fmt.Sprint(os.Getpid()),
		}})
	case "fail":
		answer(map[string]any{"type": "error", "message": "no such thing", "trace": []string{}, "transient": false, "code": args[0]})
		return 1
	case "hang": // with a child that outlives it, unless somebody ends both
		child := exec.Command(os.Args[0], "tool", "sleep")
		if err := child.Start(); err != nil {
			return 1
		}
		_ = os.WriteFile("pids.part", fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
		_ = os.Rename("pids.part", "pids")
		signal.Ignore(os.Interrupt)
		time.Sleep(time.Minute)
	case "sleep":
		signal.Ignore(os.Interrupt)
		time.Sleep(time.Minute)
	default:
		fmt.Fprintln(os.Stderr, "no such tool: "+kind)
		return 9
	}
	return 0
}

// long writes out what is too long for a command line.
func long(s string) string {
	return strings.ReplaceAll(s, "LONG", strings.Repeat("x\n", term.MaxShown/2))
}

func answer(v any) {
	_ = json.NewEncoder(os.Stdout).Encode(v)
}
