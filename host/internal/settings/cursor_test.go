package settings

import "testing"

// Columns count from the beginning of the line, whatever was asked for before.
func TestPositionsInLongLines(t *testing.T) {
	x := cursor{data: []byte("aé\nöb c\n"), line: 1, column: 1}
	for _, c := range []struct{ offset, line, column int }{{0, 1, 1}, {3, 1, 3}, {1, 1, 2}, {4, 2, 1}, {7, 2, 3}, {6, 2, 2}, {9, 2, 5}, {10, 3, 1}, {3, 1, 3}, {99, 3, 1}} {
		if line, column := x.position(c.offset); line != c.line || column != c.column {
			t.Errorf("offset %d is at %d:%d, want %d:%d", c.offset, line, column, c.line, c.column)
		}
	}
}
