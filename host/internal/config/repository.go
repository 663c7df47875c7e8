package config

// Repository says whether a file of a repository may set a key, whom nobody trusts to widen
// access: what `jphost trust` asks about.
type Repository string

// The values of Repository. What a key does not say, the key above it says for it; a key
// that nobody says anything of is Asked.
const (
	// Asked: a person is asked whenever a repository sets it.
	Asked Repository = "asked"
	// Judged: a person is asked if the value is more than what holds without it.
	Judged Repository = "judged"
	// Own: free for a tool that only the repository sets up, asked for any other.
	Own Repository = "own"
	// Free: it widens nothing.
	Free Repository = "free"
	// Never: a repository that sets it is refused.
	Never Repository = "never"
)

// RepositoryMay says what a repository may do with the key of these parts, as SplitKey
// gives them. A key that is not known is Asked.
func RepositoryMay(parts ...string) Repository {
	n, may := schema(), Asked
	for _, part := range parts {
		t := n.alternative(Table)
		switch {
		case t != nil && t.kind == nodeMap:
			n = t.elem
			continue
		case t != nil && (t.kind == nodeRules || t.kind == nodeFree):
			return may // what it holds, or how it merges
		}
		if t == nil || t.kind != nodeTable {
			return Asked
		}
		f := t.field(part)
		if f == nil {
			return Asked
		}
		if f.repo != "" {
			may = f.repo
		}
		n = f.node
	}
	return may
}
