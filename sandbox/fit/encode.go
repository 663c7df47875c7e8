package fit

import (
	"encoding/binary"
	"errors"

	"github.com/jptools/jptools/jptool"
)

// Encode is p for the process that starts the tool, which is another one of the same program:
// DecodePlan reads it there. Both stand between a call and the start of its tool, and encoding/json
// would take a third of a millisecond in two fresh processes to learn what a Plan is.
func (p *Plan) Encode() []byte {
	c := &coder{bytes: make([]byte, 0, 2<<10)} // most plans
	c.plan(p)
	return c.bytes
}

// DecodePlan reads what Encode wrote.
func DecodePlan(b []byte) (*Plan, error) {
	c := &coder{bytes: b, reading: true}
	p := &Plan{}
	c.plan(p)
	if c.broken || len(c.bytes) > 0 {
		return nil, errors.New("the plan is no plan")
	}
	return p, nil
}

// coder writes or reads values one after the other, so that both ways are written once. What it writes
// it leaves as it is, for several goroutines at once.
type coder struct {
	bytes   []byte // written, or still to be read
	reading bool
	broken  bool // what was read is too short
}

func (c *coder) plan(p *Plan) {
	text(c, &p.Tier)
	number(c, &p.ABI)
	list(c, &p.Trees, (*coder).node)
	list(c, &p.Grants, (*coder).grant)
	list(c, &p.Covers, func(c *coder, v *Cover) {
		c.node(&v.Node)
		c.flag(&v.Hide)
		c.flag(&v.Again)
		c.flag(&v.ReadOnly)
		c.flag(&v.NoExec)
	})
	list(c, &p.Pins, (*coder).node)
	list(c, &p.Runtime, (*coder).grant)
	list(c, &p.Devices, text[string])
	text(c, &p.Temp)
	list(c, &p.Staged, func(c *coder, v *Staged) {
		c.node(&v.Node)
		number(c, &v.FD)
	})
	c.flag(&p.Net.Open)
	list(c, &p.Net.Ports, number[uint16])
	number(c, &p.Limits.Memory)
	number(c, &p.Limits.Processes)
	number(c, &p.Limits.CPUSeconds)
	number(c, &p.Limits.FileSize)
	c.flag(&p.Frozen)
	c.flag(&p.NoFilter)
	c.flag(&p.Observe)
}

func (c *coder) grant(v *Grant) {
	c.node(&v.Node)
	number(c, &v.Caps)
}

func (c *coder) node(v *Node) {
	text(c, &v.Path)
	text(c, &v.Kind)
	number(c, &v.ID.Dev)
	number(c, &v.ID.Ino)
}

func (c *coder) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	if c.reading {
		*v = n == 1
	}
}

func number[T int | int64 | uint16 | uint64 | jptool.Caps](c *coder, v *T) {
	if !c.reading {
		c.bytes = binary.AppendUvarint(c.bytes, uint64(*v))
		return
	}
	n, size := binary.Uvarint(c.bytes)
	if c.broken = c.broken || size <= 0; c.broken {
		return
	}
	*v, c.bytes = T(n), c.bytes[size:]
}

func text[T ~string](c *coder, v *T) {
	n := len(*v)
	number(c, &n)
	if !c.reading {
		c.bytes = append(c.bytes, *v...)
		return
	}
	if c.broken = c.broken || n < 0 || n > len(c.bytes); c.broken {
		return
	}
	*v, c.bytes = T(c.bytes[:n]), c.bytes[n:]
}

// list tells nil from empty: no ports are not all ports.
func list[T any](c *coder, v *[]T, item func(*coder, *T)) {
	n := 0
	if *v != nil {
		n = len(*v) + 1
	}
	number(c, &n)
	if c.reading && !c.broken && n > 0 {
		if c.broken = n-1 > len(c.bytes); c.broken { // each takes a byte at least
			return
		}
		*v = make([]T, n-1)
	}
	for i := range *v {
		item(c, &(*v)[i])
	}
}
