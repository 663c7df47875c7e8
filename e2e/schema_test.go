package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemas resolves one definition of docs/wire.schema.json each.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	data, err := os.ReadFile(filepath.Join(repo, "docs", "wire.schema.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]*jsonschema.Resolved{}
	for _, def := range []string{"request", "context", "access", "outcome"} {
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		s.Ref = "#/$defs/" + def
		if all[def], err = s.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// valid validates JSON against a definition of the schema.
func valid(t testing.TB, def string, raw []byte) error {
	t.Helper()
	all, err := schemas()
	if err != nil {
		t.Fatalf("docs/wire.schema.json: %v", err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return all[def].Validate(v)
}

// The schema and the decoder agree on the policies of the vectors. What is wrong about
// a policy in a certain tree only (a link, say) a schema cannot tell.
func TestSchemaOfAccess(t *testing.T) {
	refused := 0
	for _, c := range load[fsCase](t, "fs.json") {
		if len(c.Access) > 0 && string(c.Access) != "null" {
			if err := valid(t, "access", c.Access); err != nil {
				t.Errorf("%s: the schema refuses %s: %v", c.Name, c.Access, err)
			}
		}
		for _, bad := range c.Invalid {
			if valid(t, "access", bad) != nil {
				refused++
			}
		}
	}
	if refused < 7 {
		t.Errorf("the schema refuses only %d of the invalid policies", refused)
	}
}
