// SPDX-License-Identifier: MIT
// page.mjs PLAYWRIGHT AXE CHROMIUM URL - uses the page as a person does; prints `ok WHAT` or `not ok WHAT: SEEN`
import { appendFileSync, copyFileSync, readFileSync, renameSync, rmSync } from "node:fs";
import { check, start } from "./browser.mjs";
const [library, axe, executablePath, url] = process.argv.slice(2);
const { page, done } = await start(library, executablePath);
const said = [], asked = [];
page.on("pageerror", e => said.push(e.message));
page.on("console", m => { if (m.type() === "error") said.push(m.text()); });
page.on("request", r => asked.push(r.url()));

const text = id => page.locator(id).innerText();
const graph = what => page.evaluate(`window.uftView.graph.${what}`);
const settled = () => page.waitForFunction(() => window.uftView.graph.pending === 0 && !document.querySelector("#filter-state").textContent.includes("…"));
async function open(address) {
	await page.goto("about:blank");
	await page.goto(address);
	await page.waitForSelector("body[data-ready]");
	await settled();
}
// How many colours the picture of the calls has.
const colours = () => page.evaluate(() => {
	const c = document.querySelector("canvas"), seen = new Set(), p = new Uint32Array(c.getContext("2d").getImageData(200, 30, c.width - 210, c.height - 40).data.buffer);
	for (const v of p) seen.add(v);
	return seen.size;
});

await open(url);
check("the first picture has calls", await colours() > 20, await colours());
check("what the recording is", (await text("#about")).includes("120,000 events"), await text("#about"));
check("the list has rows", await page.locator("#list .rows .row").count() > 5);
check("the first row is the first event", (await page.locator("#list .rows .row").first().innerText()).startsWith("0"));

// The page asks for what it draws: of closed rows one lane, of others those in the window.
const rowsAsked = () => new URLSearchParams(asked.filter(u => u.includes("api/tiles")).at(-1).split("?")[1]).get("rows");
const lanesBefore = rowsAsked();
check("it asks for lanes", /(^|,)c0,/.test(lanesBefore) && /(^|,)0:0-\d+/.test(lanesBefore), lanesBefore);
const closed = page.waitForResponse(r => decodeURIComponent(r.url()).includes("0:0-0"));
await page.evaluate(() => { window.uftView.graph.rows.forEach(r => { r.isOpen = false; }); window.uftView.graph.due(); });
await closed;
check("of closed rows for one", !/:0-[1-9]/.test(rowsAsked()), rowsAsked());
await page.evaluate(() => { window.uftView.graph.rows.forEach(r => { r.isOpen = true; }); window.uftView.graph.due(); });
await page.waitForFunction(() => window.uftView.graph.tile.get(0)?.row.lanes.length > 3);
await page.evaluate(() => window.uftView.graph.scrollBy(1e5));
await page.waitForFunction(() => { const g = window.uftView.graph; return g.tile.get(2)?.row.lanes.some(([lane, v]) => lane > 8 && lane < 512 && v.length > 20); });
check("below, for those there", !/(^|,)0:0-/.test(rowsAsked()), rowsAsked());
await page.evaluate(() => window.uftView.graph.scrollBy(-1e5));
await settled();

// Zoom and pan, by wheel, keys and drag.
const canvas = page.locator("#canvas"), box = await canvas.boundingBox();
const width = async () => await graph("to") - await graph("from");
let before = await width();
await page.mouse.move(box.x + 700, box.y + 150);
await page.mouse.wheel(0, -600);
check("the wheel zooms in", await width() < before * 0.6, await width());
before = await width();
await canvas.focus();
await page.keyboard.press("w");
check("w zooms in", await width() < before, await width());
let from = await graph("from");
await page.keyboard.press("d");
check("d moves on", await graph("from") > from);
from = await graph("from");
await page.mouse.down();
await page.mouse.move(box.x + 900, box.y + 150, { steps: 4 });
await page.mouse.up();
check("dragging moves back", await graph("from") < from);
await settled();

// A click selects a call, the list follows it.
await page.keyboard.press("0");
await settled();
await page.mouse.click(box.x + 700, box.y + 80);
await page.waitForSelector("#list .row.now");
const at = await graph("a"), row = await page.locator("#list .row.now").innerText();
check("the list follows a click", Math.abs(Number(row.split(/\s+/)[1]) * 1e9 % 1e9 - (5e9 + at) % 1e9) < 2e6, `${row} at ${at}`);
await page.keyboard.press("PageDown");
await page.mouse.click(box.x + 400, box.y + 80, { modifiers: [] });
await page.keyboard.press("2");
check("markers tell their distance", (await text("#marker-text")).includes("Δ"), await text("#marker-text"));
await page.keyboard.press("f");
check("f zooms to the markers", Math.abs(await width() - Math.abs(await graph("a") - await graph("b"))) < 2 || await width() < 100, await width());

// Session: the address has it.
await page.waitForFunction(() => location.hash.includes("b=") && new URLSearchParams(location.hash.slice(1)).get("from") === String(Math.round(window.uftView.graph.from)));
const kept = await page.evaluate(() => location.href), seen = [await graph("from"), await graph("to")];
await open(kept);
check("the address brings it back", Math.abs(await graph("from") - seen[0]) < 2 && Math.abs(await graph("to") - seen[1]) < 2, `${await graph("from")} ${seen}`);
await page.keyboard.press("x");
await page.keyboard.press("0");
await settled();

// The whole has one length, wherever it is told.
const told = await page.evaluate(() => {
	const g = document.querySelector("#canvas").getContext("2d"), draw = g.fillText, said = [];
	g.fillText = (...a) => said.push(a[0]);
	window.uftView.graph.draw();
	g.fillText = draw;
	return said.find(t => t.endsWith("in view")).replace(" in view", "");
});
await page.keyboard.press("g");
const lengths = [told, (await text("#range-text")).replace(/.*: /, ""), (await text("#about")).split(" · ")[2]];
await page.keyboard.press("e");
lengths.push((await text("#exporter p")).replace(/.*: (.*),.*/, "$1"));
await page.keyboard.press("Escape");
await canvas.focus();
await page.keyboard.press("l");
check("the whole has one length", new Set(lengths).size === 1 && / m?s$/.test(told), lengths.join());

// Flags of markers do not cover each other, labels of the time scale end in the picture.
const flags = await page.evaluate(() => [[0, 0], [5, 0], [0, 5], [13, 0], [0, 13], [200, 0]].map(([a, b]) => {
	const g = window.uftView.graph, at = g.duration / 2, px = (g.to - g.from) / g.width;
	[g.a, g.b] = [at + a * px, at + b * px];
	const [one, two] = g.flags().map(([t, , side]) => Math.round(g.x(t)) + side);
	[g.a, g.b] = [null, null];
	return Math.abs(one - two);
}));
const below = await page.evaluate(() => {
	const view = window.uftView.graph, g = document.querySelector("#canvas").getContext("2d"), { fillText, fillRect } = g, tops = [], ends = [];
	g.fillText = function (...a) { if (/ s$/.test(a[0])) tops.push(a[2] - this.measureText(a[0]).actualBoundingBoxAscent); };
	g.fillRect = (...a) => { if (a[2] === 14) ends.push(a[1] + a[3]); };
	view.a = view.duration / 2;
	view.draw();
	Object.assign(g, { fillText, fillRect });
	view.a = null;
	return { tops, ends };
});
check("and cover no label of the scale", below.tops.length > 3 && below.ends.length === 1 && below.tops.every(y => y >= below.ends[0]), JSON.stringify(below));
check("flags of markers stand apart", flags.length === 6 && flags.every(d => d >= 13), flags.join());
const scale = await page.evaluate(() => {
	const view = window.uftView.graph, c = document.querySelector("#canvas"), g = c.getContext("2d"), draw = g.fillText, ends = [];
	g.fillText = function (...a) { if (a[2] === 22 && a[1] > 150) ends.push(a[1] + this.measureText(a[0]).width); };
	for (let i = 0; i < 60; i++) {
		view.from = view.duration * i / 200;
		view.to = view.from + view.duration * (0.3 + i / 200);
		view.draw();
	}
	g.fillText = draw;
	view.whole();
	return { n: ends.length, most: Math.max(...ends), width: c.clientWidth };
});
check("no label of the time scale is cut", scale.n > 120 && scale.most <= scale.width, JSON.stringify(scale));

// m marks the call that was clicked, Escape selects none.
await settled();
await page.mouse.click(box.x + 700, box.y + 80);
await page.waitForFunction(() => window.uftView.graph.picked?.len);
await page.keyboard.press("m");
check("m marks the selected call", await page.evaluate(() => { const g = window.uftView.graph; return g.b === g.picked.start + g.picked.len && g.a === g.picked.start; }), `${await graph("a")} ${await graph("b")}`);
await page.keyboard.press("Escape");
check("Escape selects none", await graph("picked") === null);
await page.keyboard.press("x");

// Filters.
await page.keyboard.press("F");
await page.keyboard.type('func == "func_7" && duration > 10');
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#filter-state").textContent.includes(" of "));
await settled();
const some = await text("#filter-state");
check("the filter tells how many match", /^[1-9][\d,]* of 120,000/.test(some), some);
check("matching calls are seen in the whole", await colours() > 3, await colours());
await page.waitForFunction(() => [...document.querySelectorAll("#list .rows .row")].some(r => r.textContent.includes("func_7")));
const ofList = await text("#range-text");
check("how many rows the list has", ofList === `${some.replace(/ of .*/, "")} events`, `${ofList}, ${some}`);
check("the list has only matching ones", await page.evaluate(() => [...document.querySelectorAll("#list .rows .row")].every(r => r.textContent.includes("func_7"))));
await page.locator("#list .rows .row").nth(1).click({ button: "right" });
const ofRow = await page.locator("#menu [role=menuitem]").allInnerTexts();
check("the menu of a row of the list", ["Show only func_7", "Hide func_7", "Remove the filter"].every(t => ofRow.includes(t)) && ofRow.some(t => t.startsWith("Show only events of CPU")), ofRow.join());
await page.locator("#menu [role=menuitem]", { hasText: "Hide events of CPU" }).click();
await page.waitForFunction(() => /CPU != \d/.test(document.querySelector("#filter").value));
await page.fill("#filter", 'func == "nothing"');
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#range-text").textContent === "0 events");
check("a filter that matches nothing", (await text("#list")).includes("matches none"), await text("#list"));
await page.fill("#filter", "func ==");
await page.keyboard.press("Enter");
await page.waitForSelector("#filter-state.bad");
check("a wrong filter is told of", (await text("#filter-state")).length > 5, await text("#filter-state"));
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await settled();

// Find.
await page.fill("#search", "func_99");
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#list .row.now")?.textContent.includes("func_99"));
check("find goes to a row with that name", true);
// One that takes long is told of, and what is told is gone when it is found.
let letFind;
const heldFind = new Promise(resolve => { letFind = resolve; });
await page.route("**/api/search*", async route => { await heldFind; await route.continue(); });
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#notice").textContent === "Looking for 'func_99' …");
letFind();
await page.waitForFunction(() => document.querySelector("#notice").hidden);
check("a search that takes long is told of", true);
await page.unroute("**/api/search*");
await page.fill("#search", "no such function");
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#notice").textContent.includes("is not found after"));
check("and one that finds nothing", true);
await page.fill("#search", "");
await canvas.focus();

// Before any function was chosen there is something to see in each view.
await open(url);
await page.keyboard.press("h");
await page.waitForFunction(() => document.querySelector("#latency canvas") && /^func_/.test(window.uftView.reports.func));
check("latencies of the busiest function", true);
// Which is not one that waits, has not returned, or was called once.
const busiest = await page.evaluate(() => {
	const { busiest } = Object.getPrototypeOf(window.uftView.reports);
	return busiest.call({ tree: { nodes: [[0, "main", 1, 1e9, 1e8, 1e9, 0, 0, 0], [1, "wait", 40, 8e8, 8e8, 1e8, 0, 79e7, 0], [1, "queue", 40, 8e8, 8e8, 1e8, 0, 0, 79e7], [1, "serve", 3, 3e9, 3e9, 1e9, 3, 0, 0], [1, "work", 1000, 1e8, 1e8, 1e6, 0, 0, 0]] } });
});
check("the busiest function works", busiest === "work", busiest);
// However narrow the durations are, two marks tell what they are.
const marks = await page.evaluate(() => [[1, 1], [2, 2], [0, 3], [7, 9], [100, 100], [104, 107], [999, 1001], [1e6, 1e6], [3e6, 3.4e6], [9.6e9, 9.7e9], [20, 4e9], [1, 6e11]].map(([min, max]) => {
	const r = window.uftView.reports, kept = r.histogram, of = CanvasRenderingContext2D.prototype, draw = of.fillText, said = [];
	r.histogram = { func: "f", calls: 2, min, max, p50: min, p99: max, buckets: [[min, min, 1], [max, max, 1]] };
	of.fillText = function (...a) { if (a[2] === this.canvas.clientHeight - 7) said.push([a[0], a[1], a[1] + this.measureText(a[0]).width]); };
	r.drawLatency();
	of.fillText = draw;
	r.histogram = kept;
	r.drawLatency();
	return { min, max, said };
}));
check("durations have two marks at least", marks.every(({ said }) => new Set(said.map(([t]) => t)).size === said.length && said.length > 1), JSON.stringify(marks.filter(({ said }) => said.length < 2 || new Set(said.map(([t]) => t)).size < said.length)));
check("which stand apart", marks.every(({ said }) => said.every(([, x], i) => !i || x > said[i - 1][2])), JSON.stringify(marks));
await page.keyboard.press("p");
await page.waitForSelector("#plot canvas");
check("a plot of all calls", (await text("#plot")).includes("longest"), await text("#plot"));
await page.evaluate(() => window.uftView.graph.show(0, 1.06e6));	/* steps of 0.00005 s, which are long */
await page.waitForFunction(() => window.uftView.plot.chart?.scales.x.max < 0.0013);
const times = await page.evaluate(() => {
	const of = CanvasRenderingContext2D.prototype, draw = of.fillText, seen = [];
	of.fillText = function (...a) { if (this.canvas.closest("#plot") && /^[\d.]+ s$/.test(a[0])) seen.push([this.measureText(a[0]).width / devicePixelRatio, a[1] / devicePixelRatio]); return draw.apply(this, a); };
	window.uftView.plot.chart.redraw();
	return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => { of.fillText = draw; resolve(seen); })));
});
check("times of a plot stand apart", times.length > 2 && times.every(([w, x], i) => !i || x - times[i - 1][1] > w + 4), JSON.stringify(times));

// Reports of the view.
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
check("the flame graph", await page.waitForFunction(() => window.uftView.reports.graph.placed.length > 20).then(() => true, () => false));
const widest = () => page.evaluate(() => { const p = window.uftView.reports.graph.placed; return p.reduce((sum, q) => sum + (q.node.depth ? 0 : q.node.value), 0); });
const spent = await widest();
await page.selectOption("#flame select", "calls");
check("widths may stand for calls", await widest() > 1000 && await widest() < 60001 && await widest() !== spent, `${await widest()} ${spent}`);
await page.selectOption("#flame select", "time");
await page.mouse.click((await page.locator("#flame canvas").boundingBox()).x + 100, (await page.locator("#flame canvas").boundingBox()).y + 8);
check("a click zooms it", await page.evaluate(() => window.uftView.reports.graph.root) >= 0);
await canvas.focus();
await page.keyboard.press("c");
check("the call tree", (await page.locator("#tree .row").count()) > 20);
// Both are of what the filter shows; what it hides is a caller, pale and without numbers of its own.
const paints = () => page.evaluate(() => {
	const { placed } = window.uftView.reports.graph, shown = placed.filter(p => p.node.name === "func_7");
	return { shown: shown.length, others: new Set(placed.filter(p => p.node.name !== "func_7").map(p => p.node.colour)).size, callers: placed.length - shown.length };
});
await page.fill("#filter", 'func == "func_7"');
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelectorAll("#tree .hidden-call").length > 0);
const filtered = await page.evaluate(() => [...document.querySelectorAll("#tree .row[data-i]")].map(r => [r.lastElementChild.textContent.replace(/.* /, ""), r.children[3].textContent]));
check("the call tree is of what the filter shows", filtered.length > 2 && filtered.every(([name, calls]) => (name === "func_7") === /[1-9]/.test(calls)), JSON.stringify(filtered.slice(0, 9)));
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
const painted = await paints();
check("the flame graph is of what the filter shows", painted.shown > 0 && painted.callers > 0 && painted.others === 1, JSON.stringify(painted));
await page.fill("#filter", 'func == "nothing"');
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#flame").textContent.includes("The filter shows no call in this part"));
check("a filter that shows no call", true);
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await canvas.focus();
await page.keyboard.press("c");
await page.waitForFunction(() => document.querySelectorAll("#tree .row[data-i]").length > 20);
check("without it all calls are there", await page.locator("#tree .hidden-call").count() === 0);
// One that is on its way is waited for, by whichever of its two views.
let answer;
const held = new Promise(resolve => { answer = resolve; });
await page.route("**/api/tree*", async route => { await held; await route.continue(); });
await page.evaluate(() => window.uftView.reports.forget());
for (const key of ["g", "c"]) {
	await canvas.focus();
	await page.keyboard.press(key);
	await page.waitForTimeout(400);
}
check("a tree that has not come yet", (await text("#tree")).includes("adding up"), await text("#tree"));
answer();
await page.waitForSelector("#tree .row");
await page.unroute("**/api/tree*");
await page.locator("#tree .row").nth(2).click();
await canvas.focus();
await page.keyboard.press("h");
await page.waitForFunction(() => {
	const r = window.uftView.reports;
	return document.querySelector("#latency canvas") && r.histogram?.func === r.func;
});
const hist = await page.locator("#latency canvas").boundingBox();
await page.mouse.move(hist.x + hist.width / 2, hist.y + 60);
await page.mouse.down();
await page.mouse.move(hist.x + hist.width - 3, hist.y + 60, { steps: 3 });
await page.mouse.up();
check("dragging over durations makes a filter", /^func == ".*" && duration >= \d+/.test(await page.inputValue("#filter")), await page.inputValue("#filter"));
await page.fill("#filter", "");
await page.keyboard.press("Enter");

// Theme, keys, rows.
await canvas.focus();
const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
const light = await theme();
await page.keyboard.press("t");
check("t changes between dark and light", light !== await theme());
await page.keyboard.press("?");
check("? shows the keys", await page.locator("#keys tr").count() > 10);
await page.keyboard.press("Escape");
await page.click("#rows");
await page.locator("#chooser input[type=checkbox]").first().uncheck();
const apartBy = await page.evaluate(() => { const at = [...document.querySelectorAll("#chooser .choices label")].map(l => l.getBoundingClientRect()); return at.slice(1).map((b, i) => b.top - at[i].top); });
const offCentre = await page.evaluate(() => [...document.querySelectorAll("#chooser .choices label")].map(l => { const [a, b] = [l, l.firstElementChild].map(e => e.getBoundingClientRect()); return Math.abs(a.top + a.bottom - b.top - b.bottom) / 2; }));
check("rows of the dialog have room", apartBy.length > 2 && apartBy.every(d => d >= 22) && offCentre.every(d => d < 2), `${apartBy} ${offCentre}`);
check("a row can be hidden", await page.evaluate(() => window.uftView.graph.rows[0].isHidden));
await page.keyboard.press("Escape");

// What can be done with a call.
await page.keyboard.press("0");
await settled();
await page.mouse.click(box.x + 700, box.y + 100, { button: "right" });
const items = await page.locator("#menu [role=menuitem]").allInnerTexts();
check("the menu of a call", items.some(i => i.startsWith("Show only ")) && items.some(i => i.startsWith("Hide the row")), items.join());
await page.keyboard.press("ArrowDown");
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#filter").value.startsWith("func != "));
check("hides a function", await page.locator("#menu").isHidden(), await page.inputValue("#filter"));
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await canvas.focus();

await page.mouse.click(box.x + 40, box.y + await page.evaluate(() => window.uftView.graph.place().filter(p => !p.row.isCpu)[0].y) + 8, { button: "right" });
const moved = await page.evaluate(() => window.uftView.graph.rows.filter(r => !r.isCpu)[0].label);
await page.locator("#menu [role=menuitem]", { hasText: "down" }).click();
// By numbers: threads of several recordings that have the same have one name, that of the recording whose index was made last.
const order = () => page.evaluate(() => window.uftView.graph.rows.map(r => r.label.replace(/.*-/, "")).join());
check("a row moves down", await page.evaluate(() => window.uftView.graph.rows.filter(r => !r.isCpu)[1].label) === moved, await order());
const wanted = await order();
await page.waitForFunction(() => location.hash.includes("order="));
await open(await page.evaluate(() => location.href));
check("the address keeps the order", await order() === wanted, `${await order()}, not ${wanted}`);
await page.evaluate(() => { location.hash = ""; });
await canvas.focus();

// Rows that were opened or closed by a click, which task's reports, what widths are.
const place = await page.evaluate(() => window.uftView.graph.place().find(p => !p.row.isCpu && !p.row.isProcess && p.row.isOpen));
await page.mouse.click(box.x + 40, box.y + place.y + 8);
await page.click("#rows");
await page.getByLabel("Reports of").selectOption({ index: 1 });
await page.keyboard.press("Escape");
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
await page.selectOption("#flame select", "calls");
await page.waitForFunction(() => ["shut=", "tid=", "widths="].every(k => location.hash.includes(k)));
await open(await page.evaluate(() => location.href));
await page.waitForSelector("#flame canvas");
check("the address keeps what is open", await page.evaluate(key => !window.uftView.graph.rows.find(r => r.key === key).isOpen, place.row.key) && await page.inputValue("#flame select") === "calls", await page.evaluate(() => location.hash));
await page.evaluate(() => { location.hash = ""; });
await canvas.focus();

// Values over time.
await page.keyboard.press("p");
await page.selectOption("#plot select", "all");
await page.waitForSelector("#plot canvas");
check("a plot", (await text("#plot")).includes("longest"), await text("#plot"));
check("its legend tells values", /calls [\d,]+\s*longest [\d.]+ \S+\s*mean [\d.]+ \S+/.test(await text("#plot .series")), await text("#plot .series"));
const seenBefore = await width(), over = await page.locator("#plot .u-over").boundingBox();
await page.mouse.move(over.x + over.width / 4, over.y + 20);
await page.mouse.down();
await page.mouse.move(over.x + over.width / 2, over.y + 20, { steps: 3 });
await page.mouse.up();
check("dragging in a plot zooms", await width() < seenBefore * 0.5, await width());
await canvas.focus();
await page.keyboard.press("0");

// A part as a file.
await page.keyboard.press("e");
await page.selectOption("#exporter select", "folded");
const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#exporter button").first().click()]);
check("an export", download.suggestedFilename() === "a.folded" && readFileSync(await download.path(), "utf8").includes("func_"), download.suggestedFilename());
await page.keyboard.press("Escape");

// Another recording: what changed, and both on one clock.
await canvas.focus();
await page.keyboard.press("D");
await page.waitForSelector("#diff canvas");
check("a difference", (await text("#diff")).includes("→") && await page.locator("#diff .row").count() > 20, (await text("#diff")).slice(0, 200));
await canvas.focus();
await page.keyboard.press("l");
await page.selectOption("#file", "all");
await page.waitForFunction(() => window.uftView.graph.rows.some(r => r.isCpu && r.label.startsWith("2: ")));
await settled();
check("two recordings on one clock", /[0-9]{3},[0-9]{3} events/.test(await text("#about")) && await colours() > 20, await text("#about"));
await page.waitForFunction(() => [...document.querySelectorAll("#list .rows .row")].some(r => / [12]: /.test(r.textContent) || /[12]: \S+-\d/.test(r.textContent)));
check("the list tells them apart", true);

// Offsets by hand, where the user knows better than the clocks.
const apart = () => page.evaluate(() => window.uftView.graph.info.sources[0].offset - window.uftView.graph.info.sources[1].offset);
const first = () => page.evaluate(() => Math.min(...window.uftView.graph.rows.filter(r => r.file === 1 && !r.isCpu).map(r => r.first)) - window.uftView.graph.info.sources[1].offset);
const wasFirst = await first(), wasApart = await apart(), second = 1e9;
await canvas.focus();
await page.keyboard.press("o");
await page.getByLabel("Offset of markup.uft").fill("a minute");
await page.getByRole("button", { name: "Apply" }).click();
check("an offset that is no time is told of", (await text("#clocks")).includes("'a minute' is no time"), await text("#clocks"));
await page.getByLabel("Offset of markup.uft").fill("-1000s");
await page.keyboard.press("Enter");
await page.waitForFunction(() => window.uftView.graph.info.sources[1].shift === -1e12);
check("an offset by hand moves a recording", await apart() === wasApart + 1000 * second && await first() === wasFirst, `${await apart()} ${wasApart}`);
await page.waitForFunction(() => document.querySelector("#list .rows .row")?.textContent.includes("-995.000000"));
check("and its times in the list", true);
await page.waitForFunction(() => location.hash.includes("shift=0%2C-1000000000000"));
await open(await page.evaluate(() => location.href));
check("the address keeps the offset", await apart() === wasApart + 1000 * second, `${await apart()} ${wasApart}`);
await page.evaluate(() => { const g = window.uftView.graph; g.a = 1e5; g.b = 3e5; });
await page.click("#offsets");
await page.locator("#clocks tr").nth(1).getByRole("button").click();
await page.waitForFunction(() => window.uftView.graph.info.sources[1].shift === -1e12 + 2e5);
check("what is at A moves to B", await apart() === wasApart + 1000 * second - 2e5, `${await apart()} ${wasApart}`);
await page.click("#offsets");
await page.getByRole("button", { name: "Begin together" }).click();
await page.waitForFunction(() => window.uftView.graph.info.sources.every(s => !s.offset));
check("recordings begin together", true);
check("an offset is of all on one clock", await page.locator("#offsets").isVisible());
await page.selectOption("#file", "0");
await page.waitForFunction(() => !window.uftView.graph.rows.some(r => r.label.startsWith("2: ")));
check("not of one", await page.locator("#offsets").isHidden());
await settled();

// A recording that is being made: the end stays in view.
await page.selectOption("#file", "2");
await page.waitForFunction(() => document.title.includes("grows.uft"));
const part = await graph("duration");
check("follow is there for it", await page.locator("#follow").isVisible());
appendFileSync("grows.uft", readFileSync("a.uft").subarray(200001));
await page.waitForFunction(() => document.querySelector("#about").textContent.includes("120,000 events"));
check("a recording that grows is followed", await graph("duration") > part && await graph("to") >= await graph("duration"), `${part} ${await graph("to")}`);
await page.selectOption("#file", "0");
await page.waitForFunction(() => document.title.includes("a.uft"));
await settled();

// Threads of a process that has several stand below a row of it, which shows and hides them; what began first comes first.
await page.route("**/api/info*", async route => {
	const response = await route.fetch(), info = await response.json();
	(info.tasks ?? []).forEach((t, i) => { t.pid = i < 2 ? 1000 : 2000; t.first = 9 - i; });
	await route.fulfill({ response, json: info });
});
await open(url);
const rows = () => page.evaluate(() => window.uftView.graph.place().map(p => [p.row.label, p.row.isProcess, p.y]));
let shown = await rows();
check("a row for a process of several threads", shown.filter(r => r[1]).map(r => r[0]).join() === "thread-0 1000", JSON.stringify(shown));
check("rows are in the order of their first events", shown.slice(-4).map(r => r[0]).join() === "thread-2-1002,thread-0 1000,thread-1-1001,thread-0-1000", JSON.stringify(shown));
await page.mouse.click(box.x + 40, box.y + shown.find(r => r[1])[2] + 8);
check("a click hides its threads", (await rows()).length === shown.length - 2, JSON.stringify(await rows()));
await page.waitForFunction(() => location.hash.includes("closed=1000"));
const folded = await page.evaluate(() => location.href);
await open(folded);
check("the address keeps that", (await rows()).length === shown.length - 2, JSON.stringify(await rows()));
await page.unroute("**/api/info*");

// While a recording is read there is a picture of what was read so far.
let isRead = false;
await page.route("**/api/info*", async route => {
	const response = await route.fetch(), info = await response.json();
	await route.fulfill({ response, json: isRead ? info : { ...info, state: "working", progress: 0.5, preview: 1000, duration: 2 * info.duration } });
});
await page.goto(`${url}?again`);
await page.waitForFunction(() => window.uftView.graph.tile.size > 2 && window.uftView.graph.pending === 0);
check("a picture while it is read", await colours() > 20 && (await text("#notice")).includes("50 %") && !await page.evaluate(() => document.body.dataset.ready), await text("#notice"));
isRead = true;
await page.waitForSelector("body[data-ready]");
check("then the whole", await page.locator("#notice").isHidden() && await page.evaluate(() => window.uftView.graph.to < 1.2 * window.uftView.graph.duration), await text("#notice"));
await page.unroute("**/api/info*");

// Names that are markup are text.
await open(`${url}#file=1`);
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
await page.keyboard.press("c");
await page.waitForSelector("#tree .row");
await page.keyboard.press("l");
await page.mouse.move(box.x + 600, box.y + 80);
check("markup in names is text", await page.evaluate(() => document.title.includes("markup.uft") && !document.querySelector("#list img, #tree img, #tip img, #list script, #tree script, #list b")));
check("and is shown", (await text("#list")).includes("<img src=x onerror"), (await text("#list")).slice(0, 200));

// A row that is very deep leaves the next one in view; its deep calls are thin, found under the pointer, and full beside a click on their names.
await open(`${url}#file=4`);
const deepRows = () => page.evaluate(() => {
	const g = window.uftView.graph, of = g.place().filter(p => !p.row.isCpu);
	return { rows: of.map(p => [p.row.key, p.y, p.height, p.row.lanes]), edge: of[0].y + g.laneTop(of[0].row, 16), window: document.querySelector("#canvas").clientHeight };
});
let deep = await deepRows();
check("a deep row leaves the next one in view", deep.rows[0][3] > 90 && deep.rows[1][1] < deep.window, JSON.stringify(deep));
const underPointer = await page.evaluate(() => {
	const g = window.uftView.graph, p = g.place().find(q => !q.row.isCpu), [lane, v] = g.tile.get(p.row.shows).row.lanes.find(l => l[0] > 60 && l[0] < 512 && l[1].length);
	const t = g.tile.get(p.row.shows).tiles.from + v[0] + v[1] / 2, hit = g.hit(g.x(t), p.y + 2.5 + g.laneTop(p.row, lane) + 0.5);
	return { lane, found: hit?.lane, x: g.x(t), y: p.y + 2.5 + g.laneTop(p.row, lane) + 0.5, colours: new Set(new Uint32Array(document.querySelector("#canvas").getContext("2d").getImageData(200, Math.round(p.y + 2.5 + g.laneTop(p.row, lane)), 1000, 1).data.buffer)).size };
});
check("its deep calls are drawn and found", underPointer.lane === underPointer.found && underPointer.colours > 2, JSON.stringify(underPointer));
await page.mouse.click(box.x + 40, box.y + deep.edge + 8);
deep = await deepRows();
check("and are as high as others after a click", deep.rows[0][2] > 90 * 16, JSON.stringify(deep));
await page.waitForFunction(() => location.hash.includes("deep="));
await open(await page.evaluate(() => location.href));
check("the address keeps which are", (await deepRows()).rows[0][2] > 90 * 16, JSON.stringify(await deepRows()));
await page.mouse.click(box.x + 40, box.y + deep.edge + 8);
check("the next click makes them thin", (await deepRows()).rows[0][2] < 450, JSON.stringify(await deepRows()));

// In the flame graph the wheel goes to deep calls, and a click finds them there.
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
const flameBox = await page.locator("#flame canvas").boundingBox(), depthAt = () => page.evaluate(y => { const g = window.uftView.reports.graph, p = g.placed.find(q => q.node.depth > 20); return p ? [g.at((p.x + p.w / 2) * g.canvas.clientWidth, y)?.node.depth ?? -1, p.node.depth] : []; }, 4);
const wasTop = await depthAt();
await page.mouse.move(flameBox.x + 300, flameBox.y + 60);
await page.mouse.wheel(0, 360);
await page.waitForFunction(() => window.uftView.reports.graph.scroll.scrollTop > 0);
const nowTop = await depthAt();
check("the wheel goes to deep calls of the flame graph", wasTop[0] === 0 && nowTop[0] === 20, `${wasTop} ${nowTop}`);

// In the call tree the names of deep calls are in view, with their depth.
await canvas.focus();
await page.keyboard.press("c");
await page.waitForSelector("#tree .row:not(.head)");
const names = await page.evaluate(() => [...document.querySelectorAll("#tree .row:not(.head)")].map(r => {
	const range = document.createRange();
	range.selectNodeContents(r.lastElementChild);
	return [r.lastElementChild.textContent.trim(), range.getBoundingClientRect().right];
}));
check("names of deep calls are in view", names.some(([n]) => /^(▾ )?\[\d\d\] func_/.test(n)) && names.every(([, x]) => x < 1280), JSON.stringify(names.slice(10, 16)));
await page.keyboard.press("l");

// Of a filter only lanes that have a match have room; what matches is drawn and found, also in a row that is closed.
const wasHigh = (await deepRows()).rows[0][2];
await page.fill("#filter", "depth == 40 || depth == 60");
await page.keyboard.press("Enter");
await page.waitForFunction(() => window.uftView.graph.matching.size > 0);
await settled();
const matchesFound = () => page.evaluate(() => {
	const g = window.uftView.graph, p = g.place().find(q => !q.row.isCpu), found = [];
	for (const lane of [40, 60]) {
		const [, v] = g.tile.get(p.row.shows).row.lanes.find(l => l[0] === lane) ?? [lane, []], t = g.tile.get(p.row.shows).tiles.from + v[0] + v[1] / 2, y = p.y + 2.5 + g.laneTop(p.row, g.slot(p.row, lane)) + 3;
		found.push([lane, g.hit(g.x(t), y)?.lane, new Set(new Uint32Array(document.querySelector("#canvas").getContext("2d").getImageData(200, Math.round(y), 1000, 1).data.buffer)).size]);
	}
	return { height: p.height, found };
});
let matched = await matchesFound();
check("a filtered row is as high as its matches need", matched.height < 50 && wasHigh > 200, `${wasHigh} ${JSON.stringify(matched)}`);
check("they are drawn and found", matched.found.every(([lane, hit, n]) => lane === hit && n > 1), JSON.stringify(matched));
await page.evaluate(() => { window.uftView.graph.rows.forEach(r => { r.isOpen = false; }); window.uftView.graph.due(); });
await settled();
matched = await matchesFound();
check("also in a row that is closed", matched.height < 30 && matched.found.every(([, hit, n]) => hit >= 40 && n > 1), JSON.stringify(matched));
// Its lanes are drawn in one place: names stand only where their colours are.
await page.fill("#filter", "depth < 40");
await page.keyboard.press("Enter");
await page.evaluate(() => window.uftView.graph.show(1e6, 1.05e6));
await page.waitForFunction(() => [...window.uftView.graph.matching.values()].some(lanes => lanes.length > 20));
await settled();
const namesOver = await page.evaluate(() => {
	const view = window.uftView.graph, g = document.querySelector("#canvas").getContext("2d"), draw = g.fillText, seen = [], over = [];
	g.fillText = function (...a) { if (a[1] > 190 && a[2] > 26 && ["#111111", "#ffffff"].includes(this.fillStyle)) seen.push([a[2], a[1], a[1] + this.measureText(a[0]).width, a[0]]); };
	view.draw();
	g.fillText = draw;
	seen.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
	seen.forEach((s, i) => { if (i && s[0] === seen[i - 1][0] && s[1] < seen[i - 1][2]) over.push([seen[i - 1][3], s[3]]); });
	return { n: seen.length, over };
});
check("no name covers another in a closed row", namesOver.n > 0 && !namesOver.over.length, JSON.stringify(namesOver));
await page.evaluate(() => window.uftView.graph.whole());
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await page.evaluate(() => { window.uftView.graph.rows.forEach(r => { r.isOpen = true; }); window.uftView.graph.due(); });
await settled();
await page.waitForFunction(() => window.uftView.graph.matching.size === 0);
check("without a filter it is as before", (await deepRows()).rows[0][2] === wasHigh, JSON.stringify(await deepRows()));
await page.evaluate(() => { location.hash = ""; });

// Nothing was recorded: every view says so, and nothing fails.
await open(`${url}#file=3`);
check("a recording without events", (await text("#notice")).includes("no events"), await text("#notice"));
await canvas.focus();
for (const [key, id] of [["l", "list"], ["g", "flame"], ["c", "tree"], ["h", "latency"], ["p", "plot"]]) {
	await page.keyboard.press(key);
	if (key !== "l")
		await page.waitForFunction(i => document.querySelector(`#${i} .message`) && !document.querySelector(`#${i} .message`).textContent.includes("…"), id);
	for (const k of ["w", "d", "0", "1", "2", "f", "x"])
		await page.keyboard.press(k);
	await settled();
}
check("its views", await page.evaluate(() => Number.isFinite(window.uftView.graph.from) && Number.isFinite(window.uftView.graph.to)), await page.evaluate(() => location.hash));

// What axe finds wrong for users of screen readers and for colours, in each view, dark and light.
// Of all on one clock, so that each dialog is there: keys, export, offsets, rows, and the menu.
await open(`${url}#file=all`);
await page.evaluate(readFileSync(axe, "utf8"));
for (const name of ["dark", "light"]) {
	await canvas.focus();
	if (await theme() !== name)
		await page.keyboard.press("t");
	for (const what of ["?", "e", "o", ".", "rows"]) {
		await canvas.focus();
		await (what === "rows" ? page.click("#rows") : page.keyboard.press(what));
		await page.waitForSelector(what === "." ? "#menu [role=menuitem]" : "dialog[open]");
		const found = await page.evaluate(async () => (await window.axe.run(document, { preload: false, resultTypes: ["violations"] })).violations.map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`));
		check(`axe finds nothing, ${name}, ${what}`, !found.length, found.join("; "));
		await page.keyboard.press("Escape");
	}
}
await open(url);
await page.evaluate(readFileSync(axe, "utf8"));
for (const [name, keys] of [["dark", "lgchpD"], ["light", "lp"]]) {
	await canvas.focus();
	if (await theme() !== name)
		await page.keyboard.press("t");
	for (const key of keys) {
		await page.keyboard.press(key);
		await settled();
		const found = await page.evaluate(async () => {
			// Rows are alike, and axe looks at each of them, hidden ones, too.
			for (const table of document.querySelectorAll("#tree, #diff .scrolls"))
				[...table.querySelectorAll(".row")].slice(30).forEach(r => r.remove());
			return (await window.axe.run(document, { preload: false, resultTypes: ["violations"] })).violations.map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`);
		});
		check(`axe finds nothing, ${name}, view ${key}`, !found.length, found.join("; "));
	}
}

// In a small window nothing is cut: buttons are in it, and what the widths of the flame graph mean covers none of it.
await open(url);
await page.setViewportSize({ width: 800, height: 600 });
await canvas.focus();
await page.keyboard.press("g");
await page.waitForSelector("#flame canvas");
const cut = await page.evaluate(() => [...document.querySelectorAll("header button, .nav button, footer a")].filter(e => { const b = e.getBoundingClientRect(); return b.right > innerWidth || b.bottom > innerHeight || e.scrollWidth > e.clientWidth + 1; }).map(e => e.textContent));
check("800 pixels are enough", !cut.length, cut.join());
const [widths, flames] = await page.evaluate(() => ["#flame .bar-of-fields", "#flame canvas"].map(s => document.querySelector(s).getBoundingClientRect()).map(b => [b.top, b.bottom]));
check("nothing covers the flame graph", widths[1] <= flames[0] + 1 && flames[1] > flames[0] + 40, [widths, flames].join());

// Names of calls are read on any colour, dark and light: the contrast of each with what it stands on.
const contrast = () => page.evaluate(() => {
	const c = document.querySelector("#canvas"), g = c.getContext("2d"), draw = g.fillText, said = [];
	g.fillText = function (...a) { if (["#111111", "#ffffff"].includes(this.fillStyle)) said.push([this.fillStyle, a[1], a[2]]); return draw.apply(this, a); };
	window.uftView.graph.draw();
	delete g.fillText;
	const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const both = said.map(([ink, x, y]) => [light(g.getImageData((x - 1) * devicePixelRatio, (y - 4) * devicePixelRatio, 1, 1).data), ink === "#111111" ? light([17, 17, 17]) : 1]);
	return { n: both.length, worst: Math.min(...both.map(([a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05))) };
});
await page.setViewportSize({ width: 1280, height: 800 });
await page.evaluate(() => window.uftView.graph.show(1e6, 1.02e6));
await settled();
for (const name of ["dark", "light"]) {
	await canvas.focus();
	if (await theme() !== name)
		await page.keyboard.press("t");
	await settled();
	const seen = await contrast();
	if (name === "dark") {
		const calls = await page.evaluate(() => {
			const g = window.uftView.graph, light = c => [c & 255, c >> 8 & 255, c >> 16 & 255].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
			return Object.keys(g.names).map(n => (light(g.nameColour(Number(n))) + 0.05) / (light(0xff221c19) + 0.05));
		});
		check("calls are seen on a dark ground", calls.length > 50 && Math.min(...calls) > 3.5, `${calls.length} ${Math.min(...calls)}`);
	}
	check(`names are read on their colours, ${name}`, seen.n > 10 && seen.worst > 3.5, JSON.stringify(seen));
}

// Where the name of a function without one has no room, its address is seen, which tells it from others.
await page.evaluate(() => window.uftView.graph.show(1e6, 1.1e6));
await settled();
const cutNames = await page.evaluate(() => {
	const view = window.uftView.graph, g = document.querySelector("#canvas").getContext("2d"), draw = g.fillText, kept = view.names, said = [];
	g.fillText = (...a) => said.push(a[0]);
	view.names = new Proxy({}, { get: () => "a-program-with-a-name-longer-than-most-spans-of-this-picture-are-wide-in-it+0x1a2b" });
	view.draw();
	view.names = kept;
	g.fillText = draw;
	return said.filter(t => /^(a-pro|.?0x)/.test(t) && !t.endsWith("in-it+0x1a2b"));
});
check("an address instead of a cut name", cutNames.includes("0x1a2b") && !cutNames.some(t => t.startsWith("a-pro") && !t.includes("×")), cutNames.join());

// What the recording is is asked for at once, not when it is known which recordings there are.
let letFiles;
const heldFiles = new Promise(resolve => { letFiles = resolve; });
await page.route("**/api/files*", async route => { await heldFiles; await route.continue(); });
const infoAsked = page.waitForRequest(r => r.url().includes("api/info"));
await page.goto("about:blank");
await page.goto(url, { waitUntil: "commit" });
await infoAsked;
check("the first questions are asked at once", true);
letFiles();
await page.waitForSelector("body[data-ready]");
await page.unroute("**/api/files*");

// One that is another file now, or gone, is shown as it was; a button reads it again.
await open(`${url}#file=1`);
const asItWas = await text("#about");
copyFileSync("a.uft", "other.uft");
renameSync("other.uft", "markup.uft");
await page.waitForFunction(() => document.querySelector("#notice").textContent.includes("has changed"));
check("a recording that was replaced is shown as it was", await text("#about") === asItWas && await colours() > 3, await text("#about"));
await page.getByRole("button", { name: "Read it again" }).click();
await page.waitForFunction(() => document.querySelector("#about").textContent.includes("120,000 events"));
check("until it is read again", true);
rmSync("markup.uft");
await page.waitForFunction(() => document.querySelector("#notice").textContent.includes("is gone"));
check("one that is gone as well", (await text("#about")).includes("120,000 events") && await colours() > 20, await text("#about"));

// Nothing is asked of anybody else; nothing went wrong.
check("no outside resource", asked.every(u => u.startsWith(url) || u.startsWith("data:") || u === "about:blank"), asked.find(u => !u.startsWith(url)));
const wrong = said.filter(s => !s.includes("400"));		// the wrong filter
check("no error in the page", !wrong.length, wrong.join("; "));
check("all buttons and fields have names", await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas, [role]")].filter(e => e.checkVisibility()).every(e => e.getAttribute("aria-label") || e.textContent.trim() || e.title || ["status", "search", "row", "cell", "rowgroup", "table"].includes(e.getAttribute("role")))));
await done();
