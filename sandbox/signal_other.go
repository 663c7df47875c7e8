//go:build !unix

package sandbox

// SignalName is empty: there are no signals here.
func (s *State) SignalName() string { return "" }
