// SPDX-License-Identifier: MIT
// counters.mjs PLAYWRIGHT CHROMIUM URL - rows of values in the graph; prints `ok WHAT` or `not ok WHAT: SEEN`
import { check, start } from "./browser.mjs";
const [library, executablePath, url] = process.argv.slice(2);
const { page, done } = await start(library, executablePath);
const rows = () => page.evaluate(() => window.uftView.graph.rows.filter(r => r.values).map(r => r.label));
const settled = () => page.waitForFunction(() => window.uftView.graph.rows.every(r => !r.values || (r.values.at(1) && !r.values.isPending)));
const place = label => page.evaluate(l => { const p = window.uftView.graph.place().find(q => q.row.label === l); return { y: p.y, height: p.height }; }, label);
const box = async () => await page.locator("#canvas").boundingBox();
await page.goto(url);
await page.waitForSelector("body[data-ready]");
await page.waitForFunction(() => window.uftView.graph.rows.filter(r => r.values).length === 2);
check("counters have rows", (await rows()).sort().join() === "heap,queue", (await rows()).join());
await settled();

// Its last value is what it is, until the next one.
const queue = await place("queue"), b = await box(), x = await page.evaluate(() => window.uftView.graph.x(window.uftView.graph.duration * 0.999));
await page.mouse.move(b.x + x, b.y + queue.y + 20);
await page.waitForFunction(() => document.querySelector("#tip").textContent.startsWith("queue: "));
check("a counter keeps its value", (await page.locator("#tip").textContent()).startsWith("queue: 2\n"), await page.locator("#tip").textContent());
const colours = async label => {
	const p = await place(label);
	return page.evaluate(([y, h]) => {
		const c = document.querySelector("#canvas"), data = c.getContext("2d").getImageData(200, Math.round(y), c.width - 220, Math.round(h)).data, seen = new Set();
		for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
		return seen.size;
	}, [p.y, p.height]);
};
check("it is drawn", await colours("queue") > 3, await colours("queue"));

// The value of the plot as a row: the address keeps it; the menu removes it.
await page.keyboard.press("p");
await page.evaluate(() => { window.uftView.plot.func = "work"; });
await page.selectOption("#plot select", "func");
await page.click("#plot button");
await page.waitForFunction(() => window.uftView.graph.rows.filter(r => r.values).length === 3);
await settled();
check("durations of a function as a row", (await rows()).some(l => l === "work, duration"), (await rows()).join());
const label = (await rows()).find(l => l === "work, duration");
check("they are drawn", await colours(label) > 3, await colours(label));
await page.waitForFunction(() => location.hash.includes("values="));
await page.goto(await page.evaluate(() => location.href));
await page.reload();
await page.waitForSelector("body[data-ready]");
await page.waitForFunction(() => window.uftView.graph.rows.filter(r => r.values).length === 3);
check("the address keeps the row", (await rows()).includes(label), (await rows()).join());
const at = await place(label);
await page.mouse.click(b.x + 40, b.y + at.y + 10, { button: "right" });
await page.locator("#menu [role=menuitem]", { hasText: "Remove the row" }).first().click();
check("the menu takes it away", !(await rows()).includes(label), (await rows()).join());
await done();
