// Package cli is the command line of jphost: the grammar, the commands, and everything
// that is printed. What is decided is decided elsewhere; what is printed where is at the
// top of output.go.
package cli
