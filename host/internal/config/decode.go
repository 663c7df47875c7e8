package config

import (
	"slices"
	"time"

	"github.com/jptools/jptools/jptool"
)

// decoder turns the merged tree, whose layers the schema accepted, into typed values and
// collects what only the whole can show to be wrong.
type decoder struct {
	problems
	roots    []string // where absolute paths of rules may lie
	names    []string // of all tools
	defaults *Value   // the table '*', or nil
}

func (c *Config) decode(o Options) error {
	tools := c.merged.At("conversation", "tools")
	d := &decoder{roots: []string{o.Root, o.GivenRoot}}
	if tools != nil {
		d.names = slices.DeleteFunc(sortedKeys(tools.fields), func(k string) bool { return k == defaultsName })
		d.defaults = tools.fields[defaultsName]
	}
	for _, name := range d.names {
		c.tools = append(c.tools, d.tool(name, tools.fields[name]))
	}
	c.sandbox = decodeSandbox(c.merged.Get("sandbox"))
	return d.err()
}

// either is a key of the tool, or else of the defaults.
func (d *decoder) either(v *Value, keys ...string) *Value {
	if f := v.At(keys...); f != nil {
		return f
	}
	return d.defaults.At(keys...)
}

func (d *decoder) word(v *Value, def string, keys ...string) string {
	if f := d.either(v, keys...); f != nil {
		return f.text
	}
	return def
}

func (d *decoder) tool(name string, v *Value) *Tool {
	t := &Tool{
		Name: name, tree: v, defaults: d.defaults,
		Enable:               Enable{On: d.word(v, "on", "enable", "state") == "on", AllowToggle: d.word(v, "any", "enable", "allow_toggle")},
		Command:              decodeCommand(v.Get("command")),
		Summary:              v.Get("summary").str(),
		Description:          v.Get("description").str(),
		Examples:             v.Get("examples").str(),
		Parameters:           d.parameters(v.Get("parameters")),
		Run:                  d.word(v, "ask", "run"),
		Result:               d.word(v, "unattended", "result"),
		CancellationResponse: d.word(v, "", "cancellation_response"),
		Style:                decodeStyle(d.either(v, "style")),
		Questions:            map[string]Question{},
		Options:              map[string]any{},
		SensitivePaths:       append(d.defaults.At("access", "sensitive_paths").strings(), v.At("access", "sensitive_paths").strings()...),
		Limits:               d.limits(v),
	}
	format := "ask"
	if t.Run == "unattended" {
		format = "unattended"
	}
	t.Format = d.word(v, format, "format")
	if q := v.Get("questions"); q != nil {
		for id, f := range q.fields {
			t.Questions[id] = decodeQuestion(f)
		}
	}
	if o := v.Get("options"); o != nil {
		t.Options = o.Any().(map[string]any)
	}
	if n := v.At("needs", "fs"); n != nil {
		var caps jptool.Caps
		for _, word := range n.strings() {
			one, _ := jptool.ParseCapability(word)
			caps |= one
		}
		t.Needs = &caps
	}
	t.Access = d.access(v.Get("access"))
	d.judge(t)
	return t
}

func decodeCommand(v *Value) *Command {
	if v == nil {
		return nil
	}
	if v.Kind == String {
		words, err := splitWords(v.text)
		if err != nil || len(words) == 0 {
			return nil // cannot be: the layer's check refused it
		}
		return &Command{Program: words[0], Args: words[1:], Origin: v.Origin}
	}
	return &Command{Program: v.Get("program").str(), Args: v.Get("args").strings(), Shell: v.Get("shell").boolean(false), Origin: v.Origin}
}

// decodeStyle fills in the built-in style; the tables of two tools never mix.
func decodeStyle(v *Value) Style {
	s := Style{InlineResults: 10, ResultsFileLink: "full", Parameters: "json"}
	lines := func(f *Value, def int) int {
		switch {
		case f == nil:
			return def
		case f.Kind == Integer:
			return int(min(f.integer, 1<<30))
		case f.text == "full":
			return Full
		}
		return 0
	}
	link := func(f *Value, def string) string {
		if f == nil {
			return def
		}
		return f.text
	}
	s.Hidden = v.Get("hidden").boolean(false)
	s.InlineResults = lines(v.Get("inline_results"), s.InlineResults)
	s.ResultsFileLink = link(v.Get("results_file_link"), s.ResultsFileLink)
	s.ErrorInlineResults = lines(v.At("error", "inline_results"), s.InlineResults)
	s.ErrorResultsFileLink = link(v.At("error", "results_file_link"), s.ResultsFileLink)
	if p := v.Get("parameters"); p != nil {
		s.Parameters = p.text
		if p.Kind == Table || !slices.Contains([]string{"json", "function_call", "off"}, p.text) {
			s.Parameters, s.ParametersCommand = "", decodeCommand(p)
		}
	}
	return s
}

func decodeQuestion(v *Value) Question {
	q := Question{Target: "user", Origin: v.Origin}
	if t := v.Get("target"); t != nil && t.Kind == Table {
		q.Target = "assistant"
		q.Assistant = t.Any().(map[string]any)
	} else if t != nil {
		q.Target = t.text
	}
	if a := v.Get("answer"); a != nil {
		q.Answer, q.HasAnswer = a.Any(), true
	}
	return q
}

func (d *decoder) limits(v *Value) Limits {
	get := func(key string) *Value { return d.either(v, "limits", key) }
	size := func(key string) int64 {
		f := get(key)
		if f == nil {
			return 0
		}
		if f.Kind == Integer {
			return f.integer
		}
		n, _ := ParseSize(f.text)
		return n
	}
	span := func(key string) time.Duration {
		f := get(key)
		if f == nil {
			return 0
		}
		if f.Kind == String {
			t, _ := time.ParseDuration(f.text)
			return t
		}
		// Rounded up, because 0 means that there is no limit.
		return max(1, time.Duration(f.number()*float64(time.Second)))
	}
	l := Limits{
		Time: span("time"), CPU: span("cpu_seconds"),
		Output: size("output"), Memory: size("memory"), FileSize: size("file_size"),
	}
	if p := get("processes"); p != nil {
		l.Processes = p.integer
	}
	return l
}

func (d *decoder) parameters(v *Value) []*Parameter {
	if v == nil {
		return nil
	}
	var list []*Parameter
	for _, name := range v.keys {
		list = append(list, d.parameter(name, v.fields[name]))
	}
	return list
}

func (d *decoder) parameter(name string, v *Value) *Parameter {
	p := &Parameter{
		Name: name, Origin: v.Origin,
		Types:    v.Get("type").strings(),
		Required: v.Get("required").boolean(false),
		Summary:  v.Get("summary").str(), Description: v.Get("description").str(), Examples: v.Get("examples").str(),
		Properties: d.parameters(v.Get("properties")),
	}
	if def := v.Get("default"); def != nil {
		p.Default, p.HasDefault = def.Any(), true
	}
	if e := v.Get("enum"); e != nil {
		p.Enum = e.Any().([]any)
	}
	if i := v.Get("items"); i != nil {
		p.Items = d.parameter("", i)
	}
	d.judgeParameter(p, v)
	return p
}

func decodeSandbox(v *Value) Sandbox {
	s := Sandbox{Mode: "auto", Tier: "auto"}
	if m := v.Get("mode"); m != nil {
		s.Mode = m.text
	}
	if t := v.Get("tier"); t != nil {
		s.Tier = t.text
	}
	if paths := v.Get("paths"); paths != nil {
		for _, p := range paths.items {
			s.Paths = append(s.Paths, SandboxPath{
				Path: p.Get("path").str(), Read: p.Get("read").given(), Write: p.Get("write").given(), Execute: p.Get("execute").given(), Origin: p.Origin,
			})
		}
	}
	return s
}
