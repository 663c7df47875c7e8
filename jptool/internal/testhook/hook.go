// Package testhook lets tests force what only another system would show.
package testhook

import "sync/atomic"

// Portable makes wspath use the os.Root backend as if openat2 were missing.
var Portable atomic.Bool
