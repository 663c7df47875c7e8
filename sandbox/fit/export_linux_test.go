package fit

// SetBounds sets how much is looked through and found for what patterns withhold.
func SetBounds(entries, places int) (restore func()) {
	e, p := maxScanned, maxWithheld
	maxScanned, maxWithheld = entries, places
	return func() { maxScanned, maxWithheld = e, p }
}
