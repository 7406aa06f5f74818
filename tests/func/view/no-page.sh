#!/bin/sh
# SPDX-License-Identifier: MIT
# no-page.sh - uft view built without npm's packages: it reports what is missing, and still answers scripts
. "$(dirname "$0")/common.sh"

said='this uft was built without its page: npm was missing (make setup, then make)'
"$SYNTH" a.uft 2000 || fail "no recording"
serve a.uft
told() { grep -q . serve.err; }
eventually told || fail "it says nothing"
expect_equal "what it says" "$(cat serve.err)" "uft view: $said"
expect_equal "where the page would be" "$(curl -s -w ' %{http_code}' "$url" | tr -d '\n')" "$said 503"
ask info
expect_equal "events" "$(field events)" 4000
end_server

run "$uft" view --png a.png a.uft
expect_status 1
expect_equal "a picture" "$(cat err)" "uft view: --png: $said"
[ ! -e a.png ] || fail "there is a picture"
