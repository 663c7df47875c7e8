#!/bin/sh
# Shows the tools on this repository: a read, an edit of a scratch file, a search, and
# a refusal; then the host on a scratch workspace. Needs bin/ (make build) and nothing else.
set -u
cd "$(dirname "$0")/.."
bin=${BIN:-$PWD/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# words prints a command line that a shell reads as these words.
words() {
	for word; do
		case $word in
		*[!A-Za-z0-9_./=:-]* | '') printf " '%s'" "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

show() { # title, context, command line
	title=$1 context=$2
	shift 2
	printf '\n# %s\n$ echo%s |%s\n' "$title" "$(words "$context")" "$(words "$@")"
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

# The host, with configuration, approvals and state of its own: nothing of the user's is touched.
mkdir -p "$scratch/home" "$scratch/ws/.jp" "$scratch/fork"
printf 'hello\nworld\n' >"$scratch/ws/greeting.txt"
printf 'TOKEN=hunter2\n' >"$scratch/ws/.env"
printf 'from a fork\n' >"$scratch/fork/notes.txt"
cat >"$scratch/ws/.jp/config.toml" <<'END'
[[conversation.tools.fs_read_file.access.fs]]
path = "."
read = true

[[conversation.tools.fs_read_file.access.fs]]
path = ".env"
END

host() { # title, command line
	printf '\n# %s\n$ jphost' "$1"
	shift
	printf '%s\n' "$(words "$@")"
	(cd "$scratch/ws" && HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home XDG_DATA_HOME=$scratch/home JPHOST_SESSION=demo \
		PATH=$bin:$PATH "$bin/jphost" "$@" </dev/null 2>&1)
	printf '(exit %s)\n' "$?"
}

printf '\n# .jp/config.toml of the scratch workspace:\n'
cat "$scratch/ws/.jp/config.toml"
host "a read that the rules grant" run fs_read_file path=greeting.txt
host "one that they withhold" run fs_read_file path=.env
host "why" explain fs_read_file read .env
host "no tool writes what makes git run programs" explain fs_modify_file update .git/hooks/pre-commit
host "a directory from outside, for reading, in one flag" run fs_read_file --mount "fs_read_file:fork=$scratch/fork:ro" path=fork/notes.txt
host "an edit asks first; without a terminal it is refused, and says what allows it" run fs_modify_file path=greeting.txt 'patterns:=[{"old":"world","new":"there"}]'
