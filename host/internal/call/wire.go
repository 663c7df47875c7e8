package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/template"
	"github.com/jptools/jptools/jptool"
)

// request is one request of the wire contract; what changes from round to round is answers.
type request struct {
	context json.RawMessage
	name    string
	args    json.RawMessage
	options json.RawMessage
	answers map[string]any
}

func newRequest(ctx jptool.Context, tool *config.Tool, args map[string]any) (*request, error) {
	r := &request{name: tool.Name, answers: map[string]any{}}
	if tool.Source.Name != "" {
		r.name = tool.Source.Name
	}
	if args == nil {
		args = map[string]any{}
	}
	options := tool.Options
	if options == nil {
		options = map[string]any{}
	}
	r.context = ctx.JSON()
	var err error
	if r.args, err = marshal(args); err != nil {
		return nil, err
	}
	r.options, err = marshal(options)
	return r, err
}

// data is the request's two halves.
func (r *request) data() (template.Data, error) {
	answers, err := marshal(r.answers)
	if err != nil {
		return template.Data{}, err
	}
	tool := jptool.AppendJSONString([]byte(`{"name":`), r.name)
	tool = append(append(tool, `,"arguments":`...), r.args...)
	tool = append(append(tool, `,"answers":`...), answers...)
	tool = append(append(tool, `,"options":`...), r.options...)
	return template.Data{Context: r.context, Tool: append(tool, '}')}, nil
}

// line is the request as it goes over standard input.
func line(d template.Data) []byte {
	b := make([]byte, 0, len(d.Context)+len(d.Tool)+32)
	b = append(b, `{"context":`...)
	b = append(b, d.Context...)
	b = append(b, `,"tool":`...)
	b = append(b, d.Tool...)
	return append(b, "}\n"...)
}

// marshal is json.Marshal; what it cannot write comes from a configuration.
func marshal(v map[string]any) (json.RawMessage, error) {
	if len(v) == 0 {
		return json.RawMessage("{}"), nil
	}
	data, err := json.Marshal(v)
	return data, exit.With(exit.Usage, err)
}

// digest names a policy by its wire form.
func digest(access *jptool.AccessPolicy) (string, json.RawMessage) {
	data := access.JSON()
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), data
}
