package main

import (
	"bytes"
	"context"
	"math"
)

// countLimit is the most bytes that are read only to number the lines of a tail; behind
// more of them, lines are numbered from the end: -1 is the last one.
var countLimit int64 = 8 << 30

// tailScanner returns a scanner that stands before the last n lines. Their text is
// found from the end; their numbers cost a count of the newlines before.
func tailScanner(ctx context.Context, t *content, n int64) (*scanner, error) {
	if t.wide != nil {
		return wideTail(ctx, t, n)
	}
	from, found, err := tailStart(ctx, t, n)
	if err != nil {
		return nil, err
	}
	if from-int64(t.bom) > countLimit {
		return newScanner(t.text(ctx, from), -found, t.size), nil
	}
	s := newScanner(t.text(ctx, int64(t.bom)), 1, t.size)
	if err := s.skipBytes(from - int64(t.bom)); err != nil {
		return nil, err
	}
	return s, nil
}

// skipBytes passes over n bytes that end with a line.
func (s *scanner) skipBytes(n int64) error {
	for n > 0 && s.fill() {
		part := s.rest[:min(n, int64(len(s.rest)))]
		s.line += int64(bytes.Count(part, newline))
		s.rest = s.rest[len(part):]
		n -= int64(len(part))
	}
	return s.failure()
}

// tailStart returns where the last n lines start, and how many they are.
func tailStart(ctx context.Context, t *content, n int64) (from, found int64, err error) {
	buf := make([]byte, min(int64(scanBuffer), t.size))
	end := t.size
	if t.endsWithNewline() {
		end-- // it ends the last line and starts none
	}
	if t.size == int64(t.bom) {
		return t.size, 0, nil
	}
	for end > int64(t.bom) {
		start := max(end-int64(len(buf)), int64(t.bom))
		r := reader{ctx: ctx, t: t, off: start}
		chunk := buf[:end-start]
		read, err := r.Read(chunk)
		if err != nil && read == 0 {
			return 0, 0, err
		}
		for chunk = chunk[:read]; len(chunk) > 0; {
			i := bytes.LastIndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			if found++; found == n {
				return start + int64(i) + 1, found, nil
			}
			chunk = chunk[:i]
		}
		end = start
	}
	return int64(t.bom), found + 1, nil
}

// wideTail is tailScanner for a text that can be decoded from its start only.
func wideTail(ctx context.Context, t *content, n int64) (*scanner, error) {
	count := newScanner(t.text(ctx, int64(t.bom)), 1, t.size)
	if err := count.skip(math.MaxInt64); err != nil {
		return nil, err
	}
	s := newScanner(t.text(ctx, int64(t.bom)), 1, t.size)
	return s, s.skip(count.line - 1 - n)
}
