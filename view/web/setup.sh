#!/bin/sh
# SPDX-License-Identifier: MIT
#
# setup.sh - gets the packages that the page of uft view is built and tested with: those of package-lock.json, checked by its sums
#
# Without npm, or a network to have them from, the rest of uft is built, and `uft view` says what is missing. What failed is tried
# again the next day, or when the list has changed.
set -eu
cd "$(dirname "$0")"
have=node_modules/.package-lock.json
tried="${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/uft-view-tried"
[ -z "$(find "$have" -newer package-lock.json 2>/dev/null)" ] || exit 0
command -v npm >/dev/null 2>&1 || exit 0
[ -z "$(find "$tried" -mtime -1 -newer package-lock.json 2>/dev/null)" ] || exit 0
{ mkdir -p "${tried%/*}" && touch "$tried"; } 2>/dev/null || true
# Nothing of a package is run: esbuild and tsc come as programs.
if npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000 --loglevel=error </dev/null >&2; then
	touch "$have"
	rm -f "$tried"
	touch ../meson.build		# so that build directories look for the packages again
else
	rm -rf node_modules
	echo "setup: no packages from npm: uft is built without the page of uft view" >&2
fi
