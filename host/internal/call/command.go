package call

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
)

// command is how the tool is started, again in each round of questions: then the request has more answers.
type command struct {
	tmpl *toolargs.Template
	// withRequest: the request goes over standard input. A command with placeholders gets the request in them, and
	// nothing on standard input: such commands were written for hosts that do so.
	withRequest bool
	prepared    *sandbox.Prepared
	context     jptool.Context
	tool        toolRequest

	// program, argv and stdin are the start with the policy and the answers of the last call of prepare.
	program string
	argv    []string
	stdin   []byte
}

// toolRequest is the half of a request that is for the tool (docs/wire.md).
type toolRequest struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
	Answers   map[string]any `json:"answers"`
	Options   map[string]any `json:"options"`
}

// command makes the command of a call under its declared policy.
func (k *call) command(ctx context.Context, action jptool.Action) (*command, error) {
	t := k.Tool
	tmpl, err := toolargs.Compile(*t.Command)
	if err != nil {
		return nil, k.badCommand(err)
	}
	c := &command{
		tmpl:        tmpl,
		withRequest: !strings.Contains(t.Command.Program+"\n"+strings.Join(t.Command.Args, "\n"), "{{"),
		context: jptool.Context{
			Root: k.Root, Action: action, Access: k.policy.Access,
			WorkspaceID: k.Workspace.ID(), ConversationID: k.Conversation,
		},
		tool: toolRequest{
			Name: cmp.Or(t.Source.Name, t.Name), Arguments: k.args, Answers: map[string]any{}, Options: t.Options,
		},
	}
	if t.Options == nil {
		c.tool.Options = map[string]any{} // the wire has an object here
	}
	if c.prepared, err = k.prepared(ctx); err != nil {
		return nil, err
	}
	k.report.Withheld = c.prepared.Withheld()
	return c, nil
}

func (k *call) badCommand(err error) error {
	return exit.Errorf(exit.Usage, "%s: command of %s: %w", k.Tool.Command.Origin, k.Tool.Name, err)
}

// prepare fills the request into the command line and the standard input of the next start, and finds its program.
func (k *call) prepare(c *command) error {
	if err := k.fill(c); err != nil {
		return err
	}
	program, err := k.Program(k.Tool, c.argv[0])
	if err != nil {
		return exit.Errorf(exit.Host, "%s: command of %s: %s: %w", k.Tool.Command.Origin, k.Tool.Name, show.Visible(c.argv[0]), err)
	}
	c.program = program
	return nil
}

func (k *call) fill(c *command) error {
	tool, err := json.Marshal(c.tool)
	if err != nil {
		return exit.With(exit.Usage, err) // the options of the configuration, which JSON cannot express
	}
	c.stdin = fmt.Appendf(nil, "{\"context\":%s,\"tool\":%s}\n", c.context.JSON(), tool)
	if c.argv, err = c.tmpl.Render(c.stdin); err != nil {
		return k.badCommand(err)
	}
	return nil
}

// start returns the next start of the command.
func (c *command) start(ctx context.Context) *sandbox.Cmd {
	cmd := c.prepared.Command(ctx, c.program)
	cmd.Args = c.argv
	return cmd
}

// digest names a policy by its wire form.
func digest(access *jptool.AccessPolicy) (string, json.RawMessage) {
	data := access.JSON()
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), data
}
