// SPDX-License-Identifier: MIT
// view.mjs PLAYWRIGHT CHROMIUM URL [first] - until something of a recording is seen that is being read; else until the picture of later openings, and
// frames of the page of uft view while it pans and zooms; see view.sh
const [library, executablePath, url] = process.argv.slice(2);
const { chromium } = await import(library);
async function open() {
	const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
	const page = await browser.newPage({ viewport: { width: 1600, height: 950 } });
	page.setDefaultTimeout(600000);
	return { browser, page };
}

// A later opening, by the page's own clock: ms after the browser began with the address, until each of its steps was done.
async function openLater() {
	const { browser, page } = await open();
	await page.goto(url, { waitUntil: "commit" });
	await page.waitForFunction(() => performance.getEntriesByName("picture").length);
	const steps = await page.evaluate(() => {
		const got = what => performance.getEntriesByType("resource").find(e => e.name.includes(what)), mark = name => performance.getEntriesByName(name)[0].startTime;
		return [got("app.js").responseEnd, mark("begun"), got("api/info").responseEnd, got("api/tiles").requestStart, got("api/tiles").responseEnd, mark("picture")];
	});
	await browser.close();
	return steps;
}
if (process.argv[5] !== "first") {
	const runs = [];
	for (let i = 0; i < 5; i++)
		runs.push(await openLater());
	const [script, begun, info, asked, tiles, picture] = runs.sort((a, b) => a.at(-1) - b.at(-1))[2].map(Math.round);
	console.log(`first picture of a later opening, the middle one of ${runs.map(r => Math.round(r.at(-1))).join(", ")} ms: Chromium has the page after ${script} ms and runs it after ${begun}; ours are ${picture - begun} ms: what the recording is is known after ${info - begun}, the picture asked for after ${asked - begun}, answered after ${tiles - begun}`);
}
const { browser, page } = await open();
const begun = performance.now();
await page.goto(url);
if (process.argv[5] === "first") {
	await page.waitForFunction(() => window.uftView.graph.tile.size > 0 && window.uftView.graph.pending === 0 && window.uftView.graph.drawn > 0);
	console.log(`first picture while it is read: ${((performance.now() - begun) / 1000).toFixed(2)} s`);
	await browser.close();
	process.exit(0);
}
await page.waitForSelector("body[data-ready]");
await page.waitForFunction(() => window.uftView.graph.pending === 0);
const seen = await page.evaluate(async () => {
	const g = window.uftView.graph, between = [], drawing = [];
	let last = 0, drawn = g.drawn;
	g.whole();
	for (let i = 0; i < 300; i++) {
		const now = await new Promise(requestAnimationFrame);
		if (last) between.push(now - last);
		last = now;
		if (g.drawn !== drawn) drawing.push(g.drawTime);
		drawn = g.drawn;
		if (i % 100 < 50) g.zoom(0.9); else if (i % 100 < 80) g.pan(0.03); else g.zoom(1.2);
	}
	const part = (v, p) => v.sort((a, b) => a - b)[Math.min(v.length - 1, Math.floor(v.length * p))].toFixed(1);
	return `frames: p50 ${part(between, 0.5)} ms apart, p95 ${part(between, 0.95)}; drawing p50 ${part(drawing, 0.5)} ms, p95 ${part(drawing, 0.95)}, ${drawing.filter(ms => ms < 16).length} of ${drawing.length} below 16 ms; heap ${(performance.memory.usedJSHeapSize / 1e6).toFixed(0)} MB`;
});
console.log(seen);
await browser.close();
