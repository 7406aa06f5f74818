#!/bin/sh
# SPDX-License-Identifier: MIT
# callgrind.sh - the calls of each function of deterministic programs are those that callgrind counts: a program of ours, and sqlite3, bzip2,
# xz, perl and zstd as Debian has them. Not python3: its dictionaries hash addresses, so two runs call PyObject_RichCompare differently often.
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

# Code that nobody prepared: each function that is called, as often as callgrind says. Under valgrind a program has more variables in
# its environment, of which some programs make objects: without valgrind they are there as well, empty.
sed '/^want = /,$d' compare.py >compare_all.py
cat >>compare_all.py <<'END2'
import sys
got = Counter()
for r in csv.DictReader(open('flat.csv')):
    got[r['function'].partition('@')[0]] += int(r['calls'])     # NAME@FILE: callgrind knows the name only
assert len(got) >= int(sys.argv[1]), got
bad = {f: (got[f], counts[f]) for f in got if got[f] != counts[f]}
assert not bad, ('uft, callgrind', bad)
END2
names() { sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p' | sort -u; }
env | names >ours
more=$(valgrind -q --tool=none env 2>/dev/null | names | comm -13 ours - | sed 's/$/=/' | tr '\n' ' ')
# counted LEAST PATTERN COMMAND...: at least so many functions are called; its input is the file input
counted() {
	least=$1 pattern=$2
	shift 2
	# shellcheck disable=SC2086
	run sh -c 'more=$1 uft=$2 pattern=$3; shift 3; exec env $more "$uft" record -q -o all.uft -l "$pattern" "$@" <input' sh "$more" "$uft" "$pattern" "$@"
	expect_status 0
	"$uft" report --flat --csv all.uft >flat.csv
	valgrind --tool=callgrind --callgrind-out-file=callgrind.out "$@" <input >valgrind.log 2>&1
	run python3 compare_all.py "$least"
	expect_status 0
	expect_no_err
}
if has "sqlite3" sqlite3; then
	cat >input <<-'END2'
		create table t(a integer primary key, b text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) insert into t select i, hex(i * 7) from n;
		create index x on t(b);
		select count(*), sum(length(b)) from t where b like '3%';
		select a.b from t a join t b on a.b = b.b order by a.b limit 3;
	END2
	counted 50 'sqlite3*:mod:libsqlite3*' sqlite3 :memory:
fi
seq 4000 >input
! has "bzip2" bzip2 || counted 10 'BZ2_*:mod:libbz2*' bzip2 -kc
! has "xz" xz || counted 25 'lzma_*:mod:liblzma*' xz -T1 -kc -0
if has "perl" perl && nm -D "$(command -v perl)" 2>/dev/null | grep -q ' T Perl_newSVpv$'; then
	PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
	export PERL_HASH_SEED PERL_PERTURB_KEYS
	counted 200 'Perl_*:mod:perl*' perl -e 'my %h; for (1..200) { $h{$_ % 17} .= "x$_"; } print join(",", sort values %h) =~ s/x//gr;'
fi
# All functions of a library with its local symbols, as an archive has them: zstd.
cat >zstd.c <<'END2'
#include <zstd.h>
int main(void)
{
	static char text[60000], packed[90000], back[60000];
	unsigned seed = 1;

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = "abcdefgh"[(seed = seed * 1103515245 + 12345) >> 16 & 7];
	for (int level = 1; level <= 5; level += 4) {
		size_t n = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), level);

		if (ZSTD_decompress(back, sizeof(back), packed, n) != sizeof(text))
			return 1;
	}
	return 0;
}
END2
if ${CC:-cc} -O1 -o zstd zstd.c -Wl,-Bstatic -lzstd -Wl,-Bdynamic -lpthread 2>cc.err; then
	counted 80 '*' ./zstd
else
	echo "SKIPPED: zstd: it has no archive here: $(head -n 1 cc.err)"
fi
