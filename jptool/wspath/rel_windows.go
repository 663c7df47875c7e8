package wspath

import (
	"fmt"
	"path/filepath"
	"strings"
)

// toSlash refuses what names a drive or a device: `C:x` is relative to a directory
// that only the process knows.
func toSlash(p string) (string, error) {
	if filepath.VolumeName(p) != "" {
		return "", ErrAbsolute
	}
	return strings.ReplaceAll(p, `\`, "/"), nil
}

// checkPlatform refuses alternate data streams and the reserved device names.
func checkPlatform(clean string) error {
	if strings.ContainsAny(clean, `:*?"<>|`) || clean != "" && !filepath.IsLocal(filepath.FromSlash(clean)) {
		return fmt.Errorf("%w: it holds a reserved name or character", ErrInvalid)
	}
	for part := range strings.SplitSeq(clean, "/") {
		// Windows drops these, so `.env.` would open `.env`.
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return fmt.Errorf("%w: a component ends in a dot or a space", ErrInvalid)
		}
		// A short name (PROGRA~1) is another spelling that rules would not know.
		if i := strings.IndexByte(part, '~'); i >= 0 && i+1 < len(part) && part[i+1] >= '0' && part[i+1] <= '9' {
			return fmt.Errorf("%w: a component looks like a short (8.3) name; use the long one", ErrInvalid)
		}
	}
	return nil
}
