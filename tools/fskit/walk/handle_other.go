//go:build !linux

package walk

import "os"

func fastDir(*os.File) dir { return nil }

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) { return f.f.Read(p) }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
