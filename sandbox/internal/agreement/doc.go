// Package agreement holds no code: its tests show that the tool's own check and
// the kernel mean the same.
//
// A scene is a random tree with a random policy and a list of operations. The policy is
// fitted and its plan started for real; a probe inside does each operation with raw system
// calls, and what became of the host's tree is compared with the verdict of the check on the
// effective policy. What may differ is in docs/known-differences.md and nowhere else. Each
// operation is first done unprotected on a twin of the tree: it counts only if it works there.
//
// The harness is worth what it can find, so it is run with planted bugs too.
package agreement
