package safewrite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

const (
	// maxNames bounds how many random names are tried; the second is hardly ever needed.
	maxNames = 8
	// maxName is how long a file's name may be in bytes, nearly everywhere.
	maxName = 255
)

var errNoName = errors.New("no name for a temporary file is free")

// tempName is `.jptool-RANDOM-NEW-OLD.tmp`. NEW is the inode number of the temporary
// itself, and OLD the [stamp.id] of the file it is to replace, which has this name for a
// moment too; 0 is none. The numbers prove that this package chose the name: a process that
// chooses a name cannot know the inode number that the file will get.
func tempName(self, old uint64) string {
	return fmt.Sprintf(".jptool-%016x-%016x-%016x.tmp", rand.Uint64(), self, old)
}

// tempForm is what tempName makes, and nothing else.
var tempForm = regexp.MustCompile(`^\.jptool-[0-9a-f]{16}-([0-9a-f]{16})-([0-9a-f]{16})\.tmp$`)

// parseTemp is the reverse of tempName; ok only for exactly this form.
func parseTemp(name string) (self, old uint64, ok bool) {
	m := tempForm.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, false
	}
	self, _ = strconv.ParseUint(m[1], 16, 64)
	old, _ = strconv.ParseUint(m[2], 16, 64)
	return self, old, true
}

// isTemp reports whether name is of the form of tempName, whoever made it.
func isTemp(name string) bool { return tempForm.MatchString(name) }

// ours reports whether this package gave the file its temporary name: to a new file, or to an old one as it was
// when it was to be replaced. It is false for a file of another program, and for an old file that was written to
// since. A file whose name has no numbers yet is ours if it is empty: nothing is lost with it.
func ours(name string, f *os.File) bool {
	self, old, ok := parseTemp(name)
	s, err := stampOf(f)
	if !ok || err != nil {
		return false
	}
	if self == 0 && old == 0 {
		return s.size == 0
	}
	return s.inode != 0 && (s.inode == self || s.id() == old)
}

// savedName is a visible name, not that of a temporary, for what another program put at name.
func savedName(name string) string {
	suffix := fmt.Sprintf(".saved-%08x", rand.Uint32())
	n := min(len(name), maxName-len(suffix))
	for n > 0 && n < len(name) && !utf8.RuneStart(name[n]) {
		n--
	}
	return name[:n] + suffix
}

// CheckName refuses a new path that is written like a directory's, which is lost in
// the Target, and the names that temporary files have. given is what the caller wrote.
func CheckName(t *jptool.Target, given string) error {
	// A "." that is not alone, and a "..", mean a directory as well.
	i := strings.LastIndexAny(given, "/"+string(os.PathSeparator))
	if last := given[i+1:]; i >= 0 && (last == "" || last == "." || last == "..") {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s names a directory by its end; give the full path that is to be made, such as %s", jptool.Quote(given), jptool.Quote(t.Path()))
	}
	if isTemp(t.Name()) {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s has the form of the names of temporary files, which are removed when they are old; choose another one", jptool.Quote(t.Path()))
	}
	return nil
}
