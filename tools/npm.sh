#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npm.sh DIR WITHOUT - gets npm's packages of DIR: those of its package-lock.json, checked by its sums
#
# Without npm, or a network to have them from, it says WITHOUT (what is missing then) and ends well. What failed is tried again the
# next day, or when the list has changed.
set -eu
cd "$1"
have=node_modules/.package-lock.json
name=$(sed -n 's/^  "name": "\(.*\)",$/\1/p' package.json)
tried="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/$name-tried"
[ -z "$(find "$have" -newer package-lock.json 2>/dev/null)" ] || exit 0
command -v npm >/dev/null 2>&1 || exit 0
[ -z "$(find "$tried" -mtime -1 -newer package-lock.json 2>/dev/null)" ] || exit 0
{ mkdir -p "${tried%/*}" && touch "$tried"; } 2>/dev/null || true
# Nothing of a package is run: what comes as a program is one.
if npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000 --loglevel=error </dev/null >&2; then
	touch "$have"
	rm -f "$tried"
	touch ../meson.build		# so that build directories look for the packages again
else
	rm -rf node_modules
	echo "setup: no packages from npm: $2" >&2
fi
