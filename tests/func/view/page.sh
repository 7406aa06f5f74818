#!/bin/sh
# SPDX-License-Identifier: MIT
# page.sh - the page of uft view in a browser: graph, list, filters, reports, keys, names that are markup, and a picture by --png
. "$(dirname "$0")/common.sh"
need node
chromium=$(command -v chromium || command -v chromium-browser) || skip "chromium is not installed"
modules=$top/view/web/node_modules
[ -d "$modules/playwright-core" ] || skip "playwright-core is not installed (make setup, with npm)"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' || skip "playwright-core needs node 18"

"$SYNTH" a.uft 60000 5 3
"$SYNTH" markup.uft 3000 6 2 8 '<img src=x onerror="document.title=1"><script>document.title=2</script>'
head -c 200001 a.uft >grows.uft
serve a.uft markup.uft grows.uft
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url")" = 200 ] || skip "this uft was built without its page"
run node "$top/tests/func/view/page.mjs" "$modules/playwright-core/index.mjs" "$modules/axe-core/axe.min.js" "$chromium" "$url"
expect_status 0
cat out
check
[ "$(grep -c '^ok ' out)" -ge 20 ] || { fail "checks are missing"; show; }
end_server

HOME=$tmp run "$uft" view --png graph.png --tab flame --range 1ms~2ms a.uft
expect_status 0
expect_equal "a picture" "$(head -c 8 graph.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a
