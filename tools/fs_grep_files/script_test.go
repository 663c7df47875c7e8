package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/tools/fskit/testdata/fstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fs_grep_files": main})
}

func TestScripts(t *testing.T) { fstest.Scripts(t) }
