// Package fskit is what the fs tools share besides the policy library: digests of
// content, and suppression of paths that are not to be shown. Its subpackages walk,
// match ignore files, read the state of git, and replace content.
package fskit
