package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/tools/fskit/testdata/fstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fs_delete_file": main})
}

func TestScripts(t *testing.T) { fstest.Scripts(t) }
