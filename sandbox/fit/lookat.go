package fit

// Look says what stands at a canonical path; a link on the way to it is an error, and
// nothing there is the kind Missing.
func Look(path string) (Node, error) { return look(path) }
