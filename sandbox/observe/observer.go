package observe

import "os"

// Observer looks at the calls of one program. It runs in the process that prepares the call, which is an ancestor of the
// program but not the process that starts it: that one holds still until execve, which would wait for the observer.
type Observer struct{ *observer }

// message is what a program sends along with its filter's descriptor.
const message = "L"

// Message is what a program sends to [Observer.Socket], along with the descriptor of its filter.
func Message() []byte { return []byte(message) }

// Socket is where the program's descriptor goes.
func (o *Observer) Socket() *os.File { return o.theirs }

// HandedOver closes Socket in this process, when the program has it, or never will.
func (o *Observer) HandedOver() { _ = o.theirs.Close() }
