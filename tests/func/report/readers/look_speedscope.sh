# SPDX-License-Identifier: MIT
# look_speedscope.sh - for shell tests, after common.sh and $readers: a speedscope profile as speedscope imports it
# look_speedscope REC: by speedscope's own import
look_speedscope() {
	run node "$readers/speedscope.js" $1.speedscope
	expect_status 0
	mv out $1.lines
	run sh -c 'python3 "$1/frames.py" $2 calls <$2.lines' sh "$readers" $1
	expect_status 0
	expect_no_err
}
