package wspath

// ForcePortable makes OpenDir use the os.Root backend, as where openat2 is missing.
func ForcePortable(on bool) (restore func()) {
	old := haveOpenat2
	haveOpenat2 = func() bool { return !on && old() }
	return func() { haveOpenat2 = old }
}
