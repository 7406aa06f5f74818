# SPDX-License-Identifier: MIT
# look.sh - for shell tests, after common.sh: exports as their own readers see them, compared with uft report
readers=$top/tests/func/report/readers
PYTHONPATH=$readers PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

# look FORMAT REC KIND READER...: what the reader prints, through $checker; totals.py compares it with REC.csv
checker=$readers/totals.py
look() {
	form=$1 rec=$2 kind=$3
	shift 3
	if ! "$@" >$rec.$form.text 2>$rec.$form.err; then
		fail "$form: $* failed: $(head -n 3 $rec.$form.err)"
		return
	fi
	run sh -c 'python3 "$1" $2 $3 $4 <$3.$2.text' sh "$checker" $form $rec $kind
	expect_status 0
	expect_no_err
}

decode() { protoc --proto_path="$readers" --decode="$1" "$2" <"$3"; }

has_hyparquet=
if has "Parquet" node; then
	[ -d "$readers/node_modules/hyparquet" ] && has_hyparquet=1 || echo "SKIPPED: Parquet: hyparquet is not installed (make setup, with npm)"
fi

# look_all REC KIND: of the exports REC.FORMAT
look_all() {
	if has "Perfetto and OpenTelemetry" protoc; then
		look perfetto $1 $2 decode Trace perfetto.proto $1.perfetto
		look otlp $1 $2 decode Traces otlp.proto $1.otlp
	fi
	look firefox $1 $2 cat $1.firefox
	has "pprof" go && look pprof $1 $2 go tool pprof -raw $1.pprof
	has "CTF" babeltrace2 && look ctf $1 $2 babeltrace2 --no-delta $1.ctf
	has "SQLite" sqlite3 && look sqlite $1 $2 sqlite3 -json $1.sqlite 'select * from calls'
	[ -z "$has_hyparquet" ] || look parquet $1 $2 node "$readers/parquet.js" $1.parquet
}
