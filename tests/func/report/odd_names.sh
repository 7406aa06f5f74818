#!/bin/sh
# SPDX-License-Identifier: MIT
# odd_names.sh - names with markup, commas, quotes, newlines, control bytes and bytes that are no UTF-8, of functions, tasks and programs: in each
# table and each format. Other readers: formats.sh, viewers.sh; a terminal: ../cli/terminal_escapes.sh.
. "$(dirname "$0")/../../lib/common.sh"
need python3 objcopy

cat >prog.c <<'END'
#include <pthread.h>
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void f1(void) { for (int i = 0; i < 200000; i++) __asm__ volatile(""); leaf(); }		/* wide enough to be drawn */
FN void f2(void) { f1(); leaf(); }
FN void f3(void) { f2(); leaf(); }
static void *thread(void *arg) { f3(); return arg; }
int main(void)
{
	pthread_t t;

	for (int i = 0; i < 100; i++)
		f3();
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	return 0;
}
END
build_traced prog -pthread
objcopy --redefine-sym "f1=$(printf '<b>&amp;"x"\047,y;')" --redefine-sym "f2=$(printf 'n\nl\001\033[31mz\377\303\251\342\200\256\357\277\276')" \
	--redefine-sym 'f3=%s%n\n\' prog "$(printf 'p,r"o<&\nx\377;g')" || skip "no objcopy"
run "$uft" record -q -o odd.uft "./$(printf 'p,r"o<&\nx\377;g')"
expect_status 0

cat >check.py <<'END'
import csv, gzip, io, json, re, sys
functions = {'main', 'thread', 'leaf', '<b>&amp;"x"\',y;', 'n?l??[31mz\ufffdé???\ufffe', '%s%n\\n\\'}
program, task = 'p,r"o<&?x\ufffd;g', 'p,r"o<&'      # a task's name ends with its line

def clean(data, latin=False):
    text = data.decode('latin-1' if latin else 'utf-8')
    assert not re.search('[\0-\x08\x0b-\x1f\x7f\u202e]', text), ('control bytes', text[:300])
    return text

def rows(name, is_raw=False):
    """is_raw: names are as the file has them: CSV quotes their control bytes, JSON escapes them, text has none in any case"""
    text = open(name + '.csv', 'rb').read().decode() if is_raw else clean(open(name + '.csv', 'rb').read())
    table = list(csv.DictReader(io.StringIO(text, newline=''), strict=True))
    assert table and all(None not in r and None not in r.values() for r in table), (name, 'columns')
    data = json.loads(clean(open(name + '.json', 'rb').read()))
    for a, b in zip(table, data['rows'], strict=True):
        for k, v in b.items():
            assert isinstance(v, float) or a[k] == ('' if v is None else str(v)), (name, k, a[k], v)
    clean(open(name + '.text', 'rb').read(), latin=True)
    return table

def table(name):
    got = rows(name)
    for r in got:
        assert 'depth' not in r or len(r['path'].split(';')) == int(r['depth']) + 1, (name, r)
    names = {r['function'] for r in got if 'function' in r}
    for word in ('task', 'program', 'object'):
        groups = {n[len(word) + 1:] for n in names if n.startswith(word + ' ')}
        if name == 'by_' + word:
            assert (any(g.startswith(task) for g in groups) if word == 'task' else program in groups), (name, groups)
            names -= {word + ' ' + g for g in groups}
    if name in ('tree', 'flat') or name.startswith('by_'):
        assert names == functions, (name, names ^ functions)
    if name == 'diff':
        assert {n for r in got for n in r['path'].split(';')} == {f.replace(';', ':') for f in functions}, got

def format(form):
    data = b''
    for name in (form + '.out',) if form != 'ctf' else ('ctf.out/metadata', 'ctf.out/stream'):
        data += open(name, 'rb').read()
    if form == 'pprof':
        data = gzip.decompress(data)
    want = {f.replace(';', ':') if form == 'folded' else f for f in functions}
    if form in ('folded', 'svg', 'speedscope', 'firefox', 'chrome'):
        text = clean(data)
        if form == 'folded':
            got = {n for l in text.split('\n') if l for n in l.rpartition(' ')[0].split(';')}
            assert got == want, got ^ want
        elif form == 'svg':
            import xml.etree.ElementTree as tree
            text = ' '.join(tree.fromstring(text).itertext())
            assert all(f.replace('\ufffe', '\ufffd') in text for f in want if re.search('[^a-z]', f)), text[:2000]
        else:
            texts = []
            def find(v):
                texts.append(v) if isinstance(v, str) else [find(x) for x in (v.values() if isinstance(v, dict) else v if isinstance(v, list) else ())]
            find(json.loads(text))
            assert want <= set(texts), want - set(texts)
            assert any(t.startswith(task) for t in texts), (form, task)
    elif form == 'sqlite':
        import sqlite3
        db = sqlite3.connect('sqlite.out')
        assert {r[0] for r in db.execute('select name from function')} == want
        seen = list(db.execute('select name, program from task'))
        assert any(t == task and p.endswith('/' + program) for t, p in seen), seen
    elif form.startswith('trace.dat'):
        pass                # the bytes of a trace.dat are the kernel's: names are printed as they are
    elif form != 'parquet-events' and not form.startswith('parquet'):
        for f in want:
            text = f.replace('\\', '\\\\').replace('"', '\\"') if form == 'ctf' else f
            assert text.encode() in data, (form, f)
        assert b'z\xff\xc3\xa9' not in data and b'x\xff;g' not in data, (form, 'no UTF-8')

def sites(name):
    got = rows(name, is_raw=True)
    assert functions <= {r['function'].translate({c: '?' for c in range(32)}).replace('\u202e', '???') for r in got}, got
    assert {r['object'].rpartition('/')[2].replace('\n', '?') for r in got} == {program}, got[0]

def stat(name):
    data = json.loads(clean(open(name + '.json', 'rb').read()))
    cells = dict(csv.reader(io.StringIO(clean(open(name + '.csv', 'rb').read()), newline=''), strict=True))
    lines = dict(l.split(': ', 1) for l in clean(open(name + '.text', 'rb').read(), latin=True).splitlines())
    assert (cells.pop('key'), data.pop('report'), data.pop('version')) == ('value', 'stat', 1)
    assert data.pop('missing') == []           # a list, which only JSON has
    assert program in data['cmdline'] and list(cells) == list(data) == list(lines), (data, lines)
    for k, v in data.items():
        assert cells[k] == {True: 'yes', False: 'no'}[v] if isinstance(v, bool) else isinstance(v, float) or cells[k] == str(v), (k, v, cells[k])

{'format': format, 'table': table, 'sites': sites, 'stat': stat}[sys.argv[1]](sys.argv[2])
END
views='tree:--tree flat:--flat profile:--profile timeline:--timeline callers:--callers=leaf callees:--callees=main histogram:--histogram=*
by_task:--flat=--by=task by_program:--tree=--by=program by_object:--flat=--by=object'
for view in $views; do
	name=${view%%:*}
	for form in csv json text; do
		option=--$form
		[ $form != text ] || case $name in tree|call*|by_*) option='--min 0' ;; *) option= ;; esac
		run sh -c 'set -f; "$1" report $(echo "$2" | tr = " ") $3 odd.uft' sh "$uft" "${view#*:}" "$option"
		expect_status 0
		mv out $name.$form
	done
	run python3 check.py table $name
	expect_status 0
	expect_no_err
done
for form in csv json text; do
	option=--$form
	[ $form != text ] || option=
	run "$uft" sites $option "./$(printf 'p,r"o<&\nx\377;g')"
	expect_status 0
	mv out sites.$form
done
run python3 check.py sites sites
expect_status 0
expect_no_err
run "$uft" stat --json odd.uft
mv out stat.json
run "$uft" stat --csv odd.uft
mv out stat.csv
run "$uft" stat odd.uft
mv out stat.text
run python3 check.py stat stat
expect_status 0
expect_no_err
for form in csv json text; do
	option=--$form
	[ $form != text ] || option='--min=0'
	run "$uft" diff $option odd.uft odd.uft
	expect_status 0
	mv out diff.$form
done
run python3 check.py table diff
expect_status 0
expect_no_err
for format in $("$uft" export -o x.nothing 2>&1 | sed 's/.*with -f: //; s/([^)]*)//g; s/,/ /g; s/(see.*//'); do
	run "$uft" export -f $format -o $format.out odd.uft
	expect_status 0
	expect_no_err
	run python3 check.py format $format
	expect_status 0
	expect_no_err
done
