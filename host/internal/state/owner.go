package state

import "io/fs"

// Foreign reports whether a file belongs to somebody else; never where file systems have no owners.
func Foreign(fi fs.FileInfo) bool {
	_, foreign := owner(fi)
	return foreign
}

// Roots reports whether a file belongs to the superuser; false where file systems have no owners.
func Roots(fi fs.FileInfo) bool {
	uid, foreign := owner(fi)
	return foreign && uid == 0
}
