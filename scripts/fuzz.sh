#!/bin/sh
# Runs every fuzz target of every module for the given time.
set -eu
time=$1
found=0
for dir in $(go list -f '{{.Dir}}' work); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(f \*testing\.F).*/\1/p' "$dir"/*_test.go 2>/dev/null | sort -u); do
		found=$((found + 1))
		echo "== $target in ${dir#"$PWD"/}"
		(cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x .)
	done
done
[ "$found" -gt 0 ] || { echo "no fuzz targets found" >&2; exit 1; }
echo "$found fuzz targets ran for $time each"
