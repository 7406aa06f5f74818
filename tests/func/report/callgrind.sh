#!/bin/sh
# SPDX-License-Identifier: MIT
# callgrind.sh - the calls of each function of a deterministic program are those that callgrind counts
. "$(dirname "$0")/../../lib/common.sh"
need valgrind python3

cat >prog.c <<'END2'
#include <stdlib.h>
#include <string.h>
#define FN __attribute__((noinline, noclone))
struct tree { struct tree *kid[2]; int key; };
static unsigned seed = 1;
FN int next(void) { seed = seed * 1103515245 + 12345; return (int)(seed >> 16 & 0x7fff); }
FN int before(const struct tree *t, int key) { return key < t->key; }
FN struct tree *make(int key) { struct tree *t = calloc(1, sizeof(*t)); t->key = key; return t; }
FN struct tree *insert(struct tree *t, int key)
{
	struct tree **kid;

	if (!t)
		return make(key);
	kid = &t->kid[!before(t, key)];
	*kid = insert(*kid, key);
	return t;
}
FN int odd(int n);
FN int even(int n) { return n ? odd(n - 1) + 1 : 1; }
FN int odd(int n) { return n ? even(n - 1) + 1 : 0; }
FN long sum(const struct tree *t) { return t ? sum(t->kid[0]) + t->key + sum(t->kid[1]) : 0; }
FN int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int list[300];
	struct tree *t = NULL;

	for (int i = 0; i < 1000; i++)
		t = insert(t, next());
	for (int i = 0; i < 300; i++)
		list[i] = even(i % 7) + next();
	qsort(list, 300, sizeof(list[0]), compare);
	return (sum(t) + list[0]) & 1;
}
END2
build_traced prog
run "$uft" record -q -o prog.uft ./prog
run "$uft" report --flat --csv prog.uft
cp out flat.csv
valgrind --tool=callgrind --callgrind-out-file=callgrind.out ./prog >valgrind.log 2>&1
[ -s callgrind.out ] || skip "valgrind cannot run the program: $(tail -n 1 valgrind.log)"
cat >compare.py <<'END2'
import csv, re
from collections import Counter
names, counts, callee = {}, Counter(), None

def name(text):
    m = re.match(r'\((\d+)\)(?: (.*))?$', text)
    if m[2]:
        names[m[1]] = m[2]
    return names[m[1]]

for line in open('callgrind.out'):
    key, _, value = line.rstrip('\n').partition('=')
    if key in ('fn', 'cfn', 'cfi', 'cfl', 'fl', 'fi', 'fe') and value and key in ('fn', 'cfn'):
        n = name(value)
        callee = n if key == 'cfn' else callee
    elif key == 'calls':
        counts[re.sub(r"'\d+$", '', callee)] += int(value.split()[0])
want = ('next', 'before', 'make', 'insert', 'even', 'odd', 'sum', 'compare')
got = {r['function']: int(r['calls']) for r in csv.DictReader(open('flat.csv'))}
assert got['insert'] > 10000 and got['compare'] > 1000, got
for f in want:
    assert got[f] == counts[f], (f, 'uft', got[f], 'callgrind', counts[f])
END2
run python3 compare.py
expect_status 0
expect_no_err

# A library that nobody prepared: each function of libsqlite3 that is called, as often as callgrind says.
has "sqlite3" sqlite3 || exit
cat >query.sql <<'END2'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) insert into t select i, hex(i * 7) from n;
create index x on t(b);
select count(*), sum(length(b)) from t where b like '3%';
select a.b from t a join t b on a.b = b.b order by a.b limit 3;
END2
run sh -c '"$1" record -q -o sqlite.uft -l "sqlite3*:mod:libsqlite3*" sqlite3 :memory: <query.sql' sh "$uft"
expect_status 0
"$uft" report --flat --csv sqlite.uft >flat.csv
valgrind --tool=callgrind --callgrind-out-file=callgrind.out sqlite3 :memory: <query.sql >valgrind.log 2>&1
sed '/^want = /,$d' compare.py >compare_all.py
cat >>compare_all.py <<'END2'
got = {r['function']: int(r['calls']) for r in csv.DictReader(open('flat.csv'))}
assert len(got) > 50 and got['sqlite3_mutex_enter'] > 1000, got
bad = {f: (got[f], counts[f]) for f in got if got[f] != counts[f]}
assert not bad, ('uft, callgrind', bad)
END2
run python3 compare_all.py
expect_status 0
expect_no_err
