// SPDX-License-Identifier: MIT
// browser.mjs - what the tests of the page share: a page of a browser without a window, checks, the exit status
//
// check() prints `ok WHAT` or `not ok WHAT: SEEN`; done() closes the browser and ends with 1 if one was not.
let bad = 0;

export async function start(library, executablePath) {
	const { chromium } = await import(library);
	const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
	page.setDefaultTimeout(60000);
	return {
		page,
		async done() {
			await browser.close();
			process.exit(bad ? 1 : 0);
		},
	};
}

export function check(what, is, seen = "") {
	console.log(is ? `ok ${what}` : `not ok ${what}: ${seen}`);
	bad += is ? 0 : 1;
}
