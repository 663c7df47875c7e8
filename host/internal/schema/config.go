package schema

import "github.com/jptools/jptools/host/internal/config"

// FromConfig is New for the parameters of a tool as they are configured.
func FromConfig(parameters []*config.Parameter) (*Schema, error) {
	return New(fromConfig(parameters))
}

func fromConfig(parameters []*config.Parameter) []*Node {
	var list []*Node
	for _, p := range parameters {
		n := &Node{
			Name: p.Name, Types: p.Types, Required: p.Required,
			// New brings the values to another form: the configuration keeps its own.
			Enum: append([]any(nil), p.Enum...), Default: p.Default, HasDefault: p.HasDefault,
			Description: p.Description, Properties: fromConfig(p.Properties),
		}
		if n.Description == "" {
			n.Description = p.Summary
		}
		if p.Items != nil {
			n.Items = fromConfig([]*config.Parameter{p.Items})[0]
		}
		list = append(list, n)
	}
	return list
}
