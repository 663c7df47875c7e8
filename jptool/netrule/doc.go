// Package netrule evaluates the net rules of an access policy (RFD 076, "Network rules"): may this URL be
// requested?
//
// Hosts of rules and targets are read as browsers read them (package weburl), paths in every way that servers are
// known to read them. It does no I/O and resolves no name.
package netrule
