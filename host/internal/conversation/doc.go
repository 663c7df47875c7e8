// Package conversation is what one conversation adds to the configuration: the rules of the mounts that were made in
// it, as a layer of its own in its state directory.
package conversation
