package undo

const needsModes = false
