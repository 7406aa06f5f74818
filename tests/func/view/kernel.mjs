// SPDX-License-Identifier: MIT
// kernel.mjs PLAYWRIGHT CHROMIUM URL - the page with a trace.dat of a kernel; prints `ok WHAT` or `not ok WHAT: SEEN`
import { check, start } from "./browser.mjs";
const [library, executablePath, url] = process.argv.slice(2);
const { page, done } = await start(library, executablePath);
await page.goto(url);
await page.waitForSelector("body[data-ready]");
await page.waitForFunction(() => window.uftView.graph.pending === 0 && window.uftView.graph.drawn > 0);
const placed = await page.evaluate(() => window.uftView.graph.place().map(p => p.row.label));
check("CPUs have rows", placed[0] === "CPU 0" && placed[1] === "CPU 1", placed.join());

const flags = await page.evaluate(() => [...document.querySelectorAll("#list .rows .row")].slice(0, 2).map(r => r.querySelector(".flags").textContent).join(" "));
check("flags in the list", flags === "d.h1. d..2." && await page.locator("#list .head .flags").isVisible(), flags);

// A strip of three colours, and what it says where the pointer is.
await page.evaluate(() => { for (const r of window.uftView.graph.rows) r.isOpen = true; window.uftView.graph.due(); });
await page.waitForFunction(() => window.uftView.graph.pending === 0);
const box = await page.locator("#canvas").boundingBox();
const at = await page.evaluate(() => {
	const g = window.uftView.graph, p = g.place().find(q => q.row.label === "first-100");
	return { y: p.y + p.height - 3, blocked: g.x(15e6), waits: g.x(27e6), runs: g.x(32e6) };
});
const said = {}, colours = new Set();
for (const state of ["blocked", "waits", "runs"]) {
	await page.mouse.move(box.x + at[state], box.y + at.y);
	await page.waitForFunction(text => document.querySelector("#tip").textContent.startsWith(text), state);
	said[state] = true;
	colours.add(await page.evaluate(([x, y]) => [...document.querySelector("#canvas").getContext("2d").getImageData(x, y, 1, 1).data].join(), [Math.round(at[state]), Math.round(at.y)]));
}
const rows = await page.evaluate(() => {
	const g = window.uftView.graph, row = g.rows.find(r => r.label === "first-100"), open = g.height({ ...row, isOpen: true, lanes: 1 });
	return [open, g.height({ ...row, isOpen: false })];
});
check("a closed row has room for its strip", rows[0] === rows[1], rows.join());
check("what its colours mean", (await page.locator("#legend span").allInnerTexts()).join().startsWith("runs,waits for a CPU,blocked"), await page.locator("#legend").innerText());
check("a strip of what a task does", Object.keys(said).length === 3 && colours.size === 3, [...colours].join(" "));

// Ten thousand tasks: a row is found where it is, and the last one can be reached.
await page.selectOption("#file", "1");
await page.waitForFunction(() => document.title.includes("many.dat") && window.uftView.graph.rows.length > 10000);
const deep = await page.evaluate(() => {
	const g = window.uftView.graph, bar = document.querySelector("#vscroll");
	bar.scrollTop = bar.scrollHeight;
	return new Promise(resolve => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve(g.visible().map(p => p.row.label)))), 0));
});
check("the last of ten thousand rows", deep.length > 3 && deep.length < 60 && deep.includes("task-10999"), deep.join());

// A guest has a colour of its own, which is told of where there is one.
await page.selectOption("#file", "2");
await page.waitForFunction(() => document.title.includes("kvm.dat") && document.querySelector("#legend").textContent.includes("its guest"));
await page.evaluate(() => { for (const r of window.uftView.graph.rows) r.isOpen = true; window.uftView.graph.due(); });
await page.waitForFunction(() => window.uftView.graph.pending === 0);
const below = await page.locator("#canvas").boundingBox();	/* of what is said about losses */
const strip = await page.evaluate(() => {
	const g = window.uftView.graph, p = g.place().find(q => q.row.label === "first-100");
	return [g.x(2e6), p.y + p.height - 3];
});
await page.mouse.move(below.x + strip[0], below.y + strip[1]);
await page.waitForFunction(() => document.querySelector("#tip").textContent.startsWith("runs its guest"));
const inGuest = await page.evaluate(([x, y]) => [...document.querySelector("#canvas").getContext("2d").getImageData(x, y, 1, 1).data].join(), strip.map(Math.round));
const red = await page.evaluate(() => {
	const g = window.uftView.graph, p = g.place()[1];
	return [...document.querySelector("#canvas").getContext("2d").getImageData(Math.round(g.x(25e6)), Math.round(p.y + 8), 1, 1).data];
});
check("losses are red", red[0] > 180 && red[1] < 100 && red[2] < 100 && (await page.locator("#legend").innerText()).includes("lost"), `${red} ${await page.locator("#legend").innerText()}`);
check("a strip where a guest runs", !colours.has(inGuest), inGuest);
await done();
