package jptool

// JSON returns the wire form of the Context, without HTML escapes.
func (c *Context) JSON() []byte { return mustMarshal(c) }

// JSON returns the wire form of the policy, as that of Context does; null for a nil policy.
func (p *AccessPolicy) JSON() []byte { return mustMarshal(p) }

// mustMarshal is for types of the wire, all values of which can be written.
func mustMarshal(v any) []byte {
	data, err := marshalPlain(v)
	if err != nil {
		panic(err)
	}
	return data
}
