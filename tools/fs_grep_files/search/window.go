package search

import "unicode/utf8"

// Window cuts a line to at most limit bytes around the match at line[start:end],
// with as much on both sides of it, and says on which sides bytes are missing.
// It cuts between runes and keeps the start of the match; of a match that is
// longer than the limit it keeps the first part. A line that fits, or any if the
// limit is not positive, is returned as it is.
func Window(line []byte, start, end, limit int) (cut []byte, leftCut, rightCut bool) {
	if limit <= 0 || len(line) <= limit {
		return line, false, false
	}
	start = min(max(start, 0), len(line))
	end = min(max(end, start), len(line))
	left := start - max(limit-(end-start), 0)/2
	left = max(min(left, len(line)-limit), 0)
	right := left + limit
	for left < start && !runeStart(line, left) {
		left++
	}
	for right < len(line) && right > left && !runeStart(line, right) {
		right--
	}
	return line[left:right], left > 0, right < len(line)
}

// runeStart reports whether a rune begins at i, which is inside of line. Bytes
// that are not valid UTF-8 are runes of their own.
func runeStart(line []byte, i int) bool {
	for back := 1; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(line[i-back]) {
			_, w := utf8.DecodeRune(line[i-back:])
			return w <= back
		}
	}
	return true
}
