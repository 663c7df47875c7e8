package main

import "strings"

// blocks collects a long text without copying it each time it outgrows its memory.
type blocks struct {
	list [][]byte
	size int
}

const blockSize = 1 << 20

// next returns the block that has room, with at most n bytes that fit.
func (b *blocks) next(n int) (last *[]byte, fits int) {
	if len(b.list) == 0 || len(b.list[len(b.list)-1]) == cap(b.list[len(b.list)-1]) {
		size := blockSize
		if len(b.list) == 0 {
			size = 16 << 10 // most results are short
		}
		b.list = append(b.list, make([]byte, 0, size))
	}
	last = &b.list[len(b.list)-1]
	return last, min(n, cap(*last)-len(*last))
}

// Write appends p.
func (b *blocks) Write(p []byte) (int, error) {
	b.size += len(p)
	for rest := p; len(rest) > 0; {
		last, n := b.next(len(rest))
		*last = append(*last, rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

// WriteString appends s.
func (b *blocks) WriteString(s string) {
	b.size += len(s)
	for len(s) > 0 {
		last, n := b.next(len(s))
		*last = append(*last, s[:n]...)
		s = s[n:]
	}
}

// String returns the text; the blocks are gone then.
func (b *blocks) String() string {
	var text strings.Builder
	text.Grow(b.size)
	for i, block := range b.list {
		text.Write(block)
		b.list[i] = nil
	}
	return text.String()
}
