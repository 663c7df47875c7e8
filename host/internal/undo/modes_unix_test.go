//go:build unix

package undo

const needsModes = true
