package fit

import (
	"bytes"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A plan arrives as it was sent, with every field that there is.
func TestEncode(t *testing.T) {
	plans := rapid.Make[Plan]()
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		p := plans.Draw(t, "plan")
		b := p.Encode()
		got, err := DecodePlan(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&p, got); diff != "" {
			t.Fatal(diff)
		}
		for _, f := range reflect.VisibleFields(reflect.TypeFor[Plan]()) {
			if !reflect.ValueOf(p).FieldByIndex(f.Index).IsZero() {
				seen[f.Name] = true
			}
		}
		if len(b) > 0 {
			n := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
			if got, err := DecodePlan(b[:n]); err == nil {
				t.Fatalf("%d of %d bytes are a plan: %+v", n, len(b), got)
			}
		}
		if _, err := DecodePlan(append(bytes.Clone(b), 0)); err == nil {
			t.Fatal("something after a plan")
		}
	})
	if n := reflect.TypeFor[Plan]().NumField(); len(seen) != n {
		t.Errorf("only %d of %d fields were ever set: %v", len(seen), n, seen)
	}
	rapid.Check(t, func(t *rapid.T) {
		_, _ = DecodePlan(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) // must not panic
	})
}

// Several goroutines may encode one plan: the race detector finds what is written to it.
func TestEncodeAtOnce(t *testing.T) {
	p := &Plan{Tier: TierLandlock, Covers: []Cover{{Hide: true}}, Staged: []Staged{{FD: 3}}, Net: Net{Ports: []uint16{1}}}
	want := p.Encode()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if !bytes.Equal(p.Encode(), want) {
				t.Error("it is another one")
			}
		})
	}
	wg.Wait()
}
