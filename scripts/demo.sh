#!/bin/sh
# Shows the tools on this repository: a read, an edit of a scratch file, a search, and
# a refusal. Needs bin/ (make build) and nothing else.
set -u
cd "$(dirname "$0")/.."
bin=${BIN:-$PWD/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

show() { # title, context, command line
	title=$1 context=$2
	shift 2
	printf '\n# %s\n$ %s\n' "$title" "$*"
	tool=$1
	shift
	printf '%s' "$context" | "$bin/$tool" "$@"
	printf '(exit %s)\n' "$?"
}

repo='{"root":"'$PWD'","action":"run","access":{"fs":[{"path":"","read":true},{"path":".git"}]}}'
work='{"root":"'$scratch'","action":"run"}'

printf 'hello\nworld\n' >"$scratch/greeting.txt"

show "read the first lines of the README" "$repo" fs_read_file --path README.md --end-line 3
show "search the library for one function" "$repo" fs_grep_files --pattern 'func \(w \*Workspace\) CheckRead' --paths jptool
show "edit a scratch file; the question is answered beforehand" "$work" \
	fs_modify_file --path greeting.txt --patterns '{"old":"world","new":"there"}' --answer apply_changes=true
show "a path that the rules withhold" "$repo" fs_read_file --path .git/config
show "a write where only reading is granted" "$repo" fs_create_file --path notes.txt --content hi
