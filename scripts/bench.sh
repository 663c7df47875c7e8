#!/bin/sh
# Compares the speed of the library and the tools with the peers that are installed, and
# prints ratios. Corpora are made once below CORPORA. Peers: sed, cat; rg and fd (Debian:
# ripgrep, fd-find); rg15 with RG15=/path/to/rg of ripgrep 15 (npm: @vscode/ripgrep-linux-x64);
# bwrap, firejail, minijail0 (Debian: bubblewrap, firejail, minijail), landrun (Go: github.com/zouuup/landrun),
# landlock-restrict (Go: github.com/landlock-lsm/go-landlock/cmd/landlock-restrict).
# The Linux tree needs Debian's linux-source-6.1. What is missing is said.
set -eu
cd "$(dirname "$0")/.."
corpora=${CORPORA:-${TMPDIR:-/tmp}/jptools-bench}
rounds=${ROUNDS:-11}
mkdir -p "$corpora"
failed=$corpora/failed # a pipe does not tell how its first command ended
rm -f "$failed"

measure() { # module, flags of go test
	(cd "$1" && shift && go test "$@" . || : >"$failed") | grep -v '^\(goos\|goarch\|pkg\|cpu\|=== \|--- PASS\|PASS\|ok\)' || :
}

bench() { # module, pattern, further flags
	module=$1 pattern=$2
	shift 2
	echo "== $module: $pattern"
	measure "$module" -run '^$' -bench "$pattern" "$@"
}

peers() { # test
	echo "== $1 against its peers, medians of $rounds rounds in turn"
	measure e2e/peers -run "^Test$1\$" -count=1 -timeout=60m -v -peers "$corpora" -rounds "$rounds"
}

bench jptool 'CheckRead|Evaluate' -benchtime=0.5s -count=3
bench e2e/peers 'AgainstSed|StartAgainstCat' -benchtime=1x
bench host 'RunAgainstTool' -benchtime=1x
bench host 'SandboxExec' -benchtime=1x
bench sandbox/internal/engine '^BenchmarkStart$' -benchtime=300x
peers List
peers Grep
[ ! -e "$failed" ] || { echo "not all of it ran to its end" >&2; exit 1; }
