package state

import "io/fs"

// Foreign reports whether a file belongs to somebody else; never where file systems have no owners.
func Foreign(fi fs.FileInfo) bool {
	_, foreign := owner(fi)
	return foreign
}
