//go:build !linux

package walk

func setTypesUnknown(bool) bool { return false }
