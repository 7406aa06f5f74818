#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh WEB LICENCE OUT TMP - builds the page in WEB and writes it as C; with no page in it if npm's packages are not there
set -eu
web=$1 licence=$2 out=$3 tmp=$4

bytes() { # bytes NAME FILE
	printf 'static const unsigned char %s[] = {\n' "$1"
	od -An -v -tx1 "$2" | sed 's/ \(..\)/0x\1,/g'
	printf '};\n'
}

printf '/* made by view/web/embed.sh */\n#include "view/page.h"\n\n' >"$out.part"
if [ -x "$web/node_modules/.bin/esbuild" ] && [ -x "$web/node_modules/.bin/tsc" ] && [ -f "$web/node_modules/uplot/LICENSE" ]; then
	mkdir -p "$tmp"
	"$web/node_modules/.bin/tsc" --noEmit -p "$web/tsconfig.json"
	"$web/node_modules/.bin/esbuild" "$web/src/main.ts" --bundle --minify --target=es2022 --log-level=warning --outfile="$tmp/app.js"
	cat "$web/node_modules/uplot/dist/uPlot.min.css" "$web/style.css" >"$tmp/style.css"
	{ cat "$licence"; printf '\nuPlot, which is in this page:\n\n'; cat "$web/node_modules/uplot/LICENSE"; } >"$tmp/licence.txt"
	{
		bytes index_html "$web/index.html"
		bytes app_js "$tmp/app.js"
		bytes style_css "$tmp/style.css"
		bytes licence_txt "$tmp/licence.txt"
		cat <<-END
			const struct view_page view_pages[] = {
				{ "", "text/html; charset=utf-8", index_html, sizeof(index_html) },
				{ "app.js", "text/javascript; charset=utf-8", app_js, sizeof(app_js) },
				{ "style.css", "text/css; charset=utf-8", style_css, sizeof(style_css) },
				{ "licence.txt", "text/plain; charset=utf-8", licence_txt, sizeof(licence_txt) },
				{ 0 }
			};
		END
	} >>"$out.part"
else
	printf 'const struct view_page view_pages[] = { { 0 } };\n' >>"$out.part"
fi
mv "$out.part" "$out"
