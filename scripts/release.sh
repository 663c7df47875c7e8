#!/bin/sh
# Tags a release: writes VERSION for the sibling modules into every go.mod, drops the
# replace lines, commits that on a detached head and tags each module.
#
#	scripts/release.sh v0.1.0
set -eu
version=${1:?usage: scripts/release.sh vX.Y.Z}
case $version in v[0-9]*.[0-9]*.[0-9]*) ;; *) echo "not a version: $version" >&2 && exit 2 ;; esac
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || { echo "the work tree is not clean" >&2 && exit 1; }
prefix=github.com/jptools/jptools
modules=$(go list -m -f '{{.Path}}')
git checkout -q --detach
trap 'git checkout -q -f -' EXIT # back to where it began, also when something fails
for module in $modules; do
	mod=${module#"$prefix"/}/go.mod
	for dep in $modules; do
		if grep -q "^[[:space:]]*\(require \)\?$dep v" "$mod"; then
			go mod edit -require="$dep@$version" -dropreplace="$dep" "$mod"
		fi
	done
done
git commit -qam "Release $version"
for module in $modules; do
	git tag -a "${module#"$prefix"/}/$version" -m "$module $version"
done
echo "tagged $version; push with: git push --tags"
