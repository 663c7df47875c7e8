package main

import (
	"context"
	"testing"
	"time"

	"github.com/jptools/jptools/tools/fs_grep_files/search"
)

// contextThatEnds is over from the start.
func contextThatEnds(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
}

func mustCompile(t *testing.T, pattern string) *search.Matcher {
	t.Helper()
	m, err := search.Compile(pattern, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
