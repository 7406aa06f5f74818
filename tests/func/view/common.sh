# SPDX-License-Identifier: MIT
# common.sh - for the tests of uft view: a server, and questions to it
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/view/serve.sh"
need curl
: "${SYNTH:?the program synth_make}"

# has_browser: one that can look at a page, by $chromium and $modules; else $missing says what is missing.
has_browser() {
	chromium=$(command -v chromium || command -v chromium-browser) || { missing="chromium is not installed"; return 1; }
	modules=$top/view/web/node_modules
	[ -d "$modules/playwright-core" ] || { missing="playwright-core is not installed (make setup, with npm)"; return 1; }
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' 2>/dev/null || { missing="playwright-core needs node 18"; return 1; }
}
# in_page SCRIPT: looks at the page of the server, or says that this part is skipped.
in_page() {
	has_browser || { echo "SKIPPED: the page: $missing"; return; }
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$url")" = 200 ] || { echo "SKIPPED: the page: this uft was built without it"; return; }
	run node "$top/tests/func/view/$1" "$modules/playwright-core/index.mjs" "$chromium" "$url"
	expect_status 0
	cat out
}
