#!/bin/sh
# SPDX-License-Identifier: MIT
# trapped.sh PROGRAM - a program is followed whose seccomp filter turns system calls of the start into signals
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

# PR_GET_TSC, PR_GET_MDWE: asked in every image that is begun
for question in 25 66; do
	run "$program" $question
	[ "$status" -ne 77 ] || { echo "SKIP: no seccomp filters"; exit 77; }
	expect_status 0
	run "$uft" record -q -p function -l work -o trapped.uft "$program" $question
	expect_status 0
	expect_out done
	expect_no_err
	run "$uft" report --no-pager trapped.uft
	expect_equal "question $question: calls of work" "$(grep -c 'work <-' out)" 5
done
