// Package nearest finds the word that was probably meant.
package nearest

import "strings"

// Word is the known word with the smallest edit distance without regard to case, if that is
// small enough for a slip of the hand; of equals the first. Else it is "".
func Word(word string, known []string) string {
	return Within(word, known, max(1, len(word)/3))
}

// Name is Word for names that may be typed in part: if no word is near, it is the one whose beginning is. Of several
// it is none of them.
func Name(word string, known []string) string {
	if near := Word(word, known); near != "" || len(word) < 4 {
		return near
	}
	found := ""
	for _, k := range known {
		near := false
		for n := len(word) - 1; n <= len(word)+1 && n < len(k); n++ {
			near = near || Within(word, []string{k[:n]}, len(word)/4) != ""
		}
		if near && found != "" {
			return ""
		}
		if near {
			found = k
		}
	}
	return found
}

// Within returns the known word that is at most edits insertions, deletions, replacements or swaps of
// neighbours away from word, without regard to case; the nearest, of equals the first. Else it is "".
func Within(word string, known []string, edits int) string {
	best, found := edits+1, ""
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < best {
			best, found = d, k
		}
	}
	return found
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
