package policy

import (
	"context"
	"testing"
)

func BenchmarkCompile(b *testing.B) {
	w := newWorld(b, "dir .git/hooks", "dir .jp", "dir src").mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true, write = true }, { path = "src", read = true }, { path = ".env" }]`)
	for _, tool := range []string{"t", "fs_read_file"} {
		r := w.request(tool)
		b.Run(tool, func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
