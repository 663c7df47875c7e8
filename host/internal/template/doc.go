// Package template fills the placeholders of a tool's command:
//
//	program = "cargo"
//	args    = ["test", "--package", "{{tool.arguments.package}}", "{{ tool.options | tojson }}"]
//
// A placeholder is a path into the request, `context…` or `tool…`, by names, numbers of
// list elements (`paths.0`) or quoted names (`arguments["dry-run"]`), and may end in
// `| tojson`. A quoted text stands for itself: `{{ "{{" }}` prints two braces.
//
// The values print as follows: text, numbers and booleans as they are, objects and lists
// as JSON, and what is null or absent as the word `null`. With `tojson` everything is
// JSON. That is the language of existing configurations less everything that computes:
// statements, comments, other filters and paths that no request has are errors when the
// command is loaded.
//
// # Words
//
// Program and arguments are filled one by one and never split again, so a value cannot
// add words to the command line. It can still be a word that the program takes for an
// option: write `--` before it where the program knows that.
//
// # With a shell
//
// `shell = true` makes `program` a script for `sh -c`, with the arguments appended as
// words. A value is never part of the script. It is passed beside it, as a parameter, and the placeholder
// becomes a quoted reference to it, by the quotes it stands in: {{x}}, "{{x}}" and
// 'a {{x}} b' are each one word, or a piece of one.
//
// A script with placeholders is parsed, as a POSIX shell and as bash would read it: `sh` may be either. It
// must be POSIX shell, of at most 16 KiB, without what shells do not all read alike, such as $'…', [[ ]] and quotes in ${…}. A placeholder
// is an error at load where the shell would read the value as code: as the name of a command, after
// eval and its like, in arithmetic and backquotes, after a command that an expansion names, after >& and test -v, whose
// words bash expands again. It is one in a here document, too. A script without placeholders or arguments is
// handed to the shell as it is.
//
// What this does not stop: programs that take a word for code themselves, such as
// `sh -c {{x}}`, `awk {{x}}`, `find -exec`; and what the script does with a variable that it has put a
// value into, such as `n={{x}}; eval "$n"` or, in bash, `$((n))`.
package template
