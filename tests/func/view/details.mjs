// SPDX-License-Identifier: MIT
// details.mjs PLAYWRIGHT CHROMIUM URL - the pane with the details of a call, by mouse and keys, and the call tree that folds; prints `ok WHAT` or `not ok WHAT: SEEN`
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { check, start } from "./browser.mjs";
const [library, executablePath, url] = process.argv.slice(2);
const { page, done } = await start(library, executablePath);
const said = [];
page.on("pageerror", e => said.push(e.message));
async function open(address) {
	await page.goto("about:blank");
	await page.goto(address);
	await page.waitForSelector("body[data-ready]");
	await page.waitForFunction(() => window.uftView.graph.pending === 0);
}
await open(url);
const pane = page.locator("#details"), canvas = page.locator("#canvas");
const facts = () => page.evaluate(() => { const d = document.querySelector("#details dl"); return Object.fromEntries([...d?.querySelectorAll("dt") ?? []].map(t => [t.textContent, t.nextElementSibling.textContent])); });
const whole = () => page.waitForFunction(() => { const t = document.querySelector("#details").textContent; return document.querySelector("#details dl") && !/…/.test(t) && t.includes("Open calls"); });
const title = () => page.locator("#details h2").innerText();
const stack = () => page.locator("#details li").allInnerTexts();

// Nothing is selected: no pane, and it says how to select.
check("before a selection there is no pane", !await pane.isVisible());
await canvas.focus();
await page.keyboard.press("i");
check("i opens it", await pane.isVisible() && (await pane.innerText()).includes("Select a call"), await pane.innerText());
await page.keyboard.press("i");
check("and closes it", !await pane.isVisible());
await open(url);

// A click on a call.
const at = await page.evaluate(() => {
	const g = window.uftView.graph, row = g.rows.find(r => !r.isCpu), lane = g.tile.get(row.shows).row.lanes.find(([l]) => l === 1)[1], place = g.place().find(p => p.row === row);
	let best = 0;
	for (let i = 0; i + 4 < lane.length; i += 5)
		best = lane[i + 1] > lane[best + 1] ? i : best;
	return { x: g.x(g.tile.get(row.shows).tiles.from + lane[best] + lane[best + 1] / 2), y: place.y + 2 + g.laneTop(row, 1) + 8 };
});
const box = await canvas.boundingBox();
await page.mouse.click(box.x + at.x, box.y + at.y);
await whole();
const ofWork = await facts();
check("a click shows the call", await title() === "work" && / (m|µ)s$/.test(ofWork.duration) && ofWork.depth === "1", `${await title()} ${JSON.stringify(ofWork)}`);
check("its arguments and result", /^0x[0-5], /.test(ofWork.arguments) && /^0x/.test(ofWork.result), JSON.stringify(ofWork));
check("how long it was blocked", /^\d.* ms$/.test(ofWork.blocked), ofWork.blocked);
check("where it stands", /prog\.c:5$|debug/.test(ofWork.source) && ofWork.object.startsWith("prog, at 0x"), JSON.stringify(ofWork));
check("the calls that are open then", (await stack()).join() === "main,work", (await stack()).join());

// By keys: to its caller, and back.
await page.locator("#details li button").first().focus();
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#details h2").textContent === "main" && window.uftView.graph.picked?.name === "main");
await whole();
check("a call of the stack is selected by keys", (await facts()).depth === "0" && (await facts()).calls === "6, and 21 below these", JSON.stringify(await facts()));

// The address has it.
await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get("sel")?.split(",")[1] === "0");	/* not that of the call before */
const address = await page.evaluate(() => location.href);
await open(address);
await whole();
check("the address keeps what is selected", await title() === "main" && await page.evaluate(() => window.uftView.graph.picked?.name) === "main", await title());

// Keys in the list: the same call by its end, what belongs to it, and an event.
const press = async (what, key = "ArrowDown") => {
	for (let i = 0; i < 120; i++) {
		await page.locator("#list").focus();
		await page.keyboard.press(key);
		if ((await page.locator("#list .row.now").innerText()).match(what))
			return;
	}
};
await page.locator("#list").focus();
await page.keyboard.press("Home");
await press(/} \/\* leaf/);
await page.waitForFunction(() => document.querySelector("#details h2").textContent === "leaf");
await whole();
const ofLeaf = await facts();
check("the end of a call in the list", ofLeaf.calls === "none" && ofLeaf.depth === "2" && (await stack()).join() === "main,work,leaf", `${JSON.stringify(ofLeaf)} ${await stack()}`);
check("it is outlined in the graph", await page.evaluate(() => window.uftView.graph.picked?.name === "leaf" && window.uftView.graph.picked.lane === 2));
await press(/arguments/, "ArrowUp");
await whole();
check("its arguments are of that call", await title() === "leaf", await title());
await press(/state=waits/);
await page.waitForFunction(() => document.querySelector("#details h2").textContent.startsWith("switch"));
await page.waitForFunction(() => document.querySelector("#details dl").textContent.includes("waits"));
check("an event has its fields", (await facts()).state === "waits", JSON.stringify(await facts()));

// Marks, closed by Escape, and then it stays closed.
await page.locator("#details button[title^=Close]").focus();
await page.keyboard.press("Escape");
check("Escape closes it", !await pane.isVisible() && await page.evaluate(() => document.activeElement.id) === "canvas");
await page.keyboard.press("0");
await page.waitForFunction(() => window.uftView.graph.pending === 0);
await page.mouse.click(box.x + at.x, box.y + at.y);
await page.waitForFunction(() => window.uftView.graph.picked?.name === "work");
check("closed by hand it stays so", !await pane.isVisible());
await page.keyboard.press("i");
await whole();
await page.getByRole("button", { name: "A~B" }).click();
check("A~B marks the call", await page.evaluate(() => { const g = window.uftView.graph; return g.a === g.picked.start && g.b === g.picked.start + g.picked.len; }));
await page.evaluate(() => window.uftView.graph.whole());

// The call tree folds, by keys and mouse, and the address keeps it.
await page.keyboard.press("x");
await canvas.focus();
await page.keyboard.press("c");
await page.waitForSelector("#tree [role=treegrid] [data-i]");
const lines = () => page.evaluate(() => [...document.querySelectorAll("#tree [data-i]")].map(r => `${r.getAttribute("aria-level")} ${r.lastElementChild.textContent.trim()}`));
const unfolded = await lines();
check("the tree has a line for each path", ["1 ▾ main", "2 ▾ work", "3 rest"].every(l => unfolded.includes(l)), unfolded.join());
await page.locator("#tree [role=treegrid]").focus();
await page.keyboard.press("Home");
await page.keyboard.press("ArrowDown");
await page.keyboard.press("ArrowLeft");
check("left folds a call", (await lines()).join() === "1 ▾ main,2 ▸ work", (await lines()).join());
check("and says so to readers of screens", await page.locator("#tree [aria-expanded=false]").count() === 1);
await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get("folded"));
await open(await page.evaluate(() => location.href));
await page.waitForSelector("#tree [data-i]");
check("the address keeps what is folded", (await lines()).join() === "1 ▾ main,2 ▸ work", (await lines()).join());
await page.fill("#search", "rest");
check("what is found below a fold marks it", await page.locator("#tree .row.hit").innerText().then(t => t.includes("work")));
await page.fill("#search", "");
await page.locator("#tree [data-i] i").nth(1).click();
check("a click on the mark unfolds it", (await lines()).join() === unfolded.join(), (await lines()).join());
await page.getByRole("button", { name: "Fold all", exact: true }).click();
check("all at once", (await lines()).join() === "1 ▸ main", (await lines()).join());
await page.getByRole("button", { name: "Unfold all" }).click();
check("and back", (await lines()).length === unfolded.length);
const columns = await page.evaluate(() => document.querySelector("#tree .head").textContent);
check("columns of waits, as there are some", columns.includes("blocked") && columns.includes("no CPU"), columns);

// Latencies follow the filter.
await canvas.focus();
await page.evaluate(() => { window.uftView.reports.func = "leaf"; });
await page.keyboard.press("h");
await page.waitForFunction(() => window.uftView.reports.histogram?.calls === 15);
await page.fill("#filter", 'func == "leaf" && duration > 4000000000');
await page.keyboard.press("Enter");
await page.waitForFunction(() => window.uftView.reports.histogram?.calls === 0);
check("latencies are of what the filter shows", true);
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await page.waitForFunction(() => window.uftView.reports.histogram?.calls === 15);
check("and of all without it", true);

// j and k go from call to call of a function, J and K from event to event of a task, in graph and list.
const picked = () => page.evaluate(() => { const p = window.uftView.graph.picked; return p && { name: p.name, start: p.start, lane: p.lane, kind: p.kind }; });
const notice = () => page.locator("#notice").innerText();
async function step(key) {
	const before = /[JK]/.test(key) ? await page.evaluate(() => window.uftView.list.current) : JSON.stringify(await picked());	/* the events of one call are many */
	await canvas.focus();
	await page.keyboard.press(key);
	await page.waitForFunction(was => {
		const { graph: { picked: p }, list } = window.uftView, notice = document.querySelector("#notice");
		if (typeof was === "number")
			return list.current !== was;
		return !notice.hidden && !notice.textContent.endsWith("…") || JSON.stringify(p && { name: p.name, start: p.start, lane: p.lane, kind: p.kind }) !== was;	/* …: it still looks for one */
	}, before);
	return picked();
}
await page.getByRole("button", { name: "Longest call" }).click();
await page.waitForFunction(() => window.uftView.graph.picked?.name === "leaf");
check("the longest call is selected", await page.evaluate(() => { const { graph, reports } = window.uftView; return graph.picked.len === reports.histogram.max && graph.from <= graph.picked.start && graph.to >= graph.picked.start; }), JSON.stringify(await picked()));
await canvas.focus();
await page.keyboard.press("Escape");
await page.keyboard.press("l");
await page.keyboard.press("J");
check("J needs a task", (await notice()).includes("Select a call or an event"), await notice());
await page.locator("#list").focus();
await page.keyboard.press("Home");
await press(/} \/\* leaf/);
await page.waitForFunction(() => window.uftView.graph.picked?.name === "leaf");
await page.evaluate(() => { document.querySelector("#notice").hidden = true; });
const leaves = [await picked()];
while (leaves.length < 20) {
	const next = await step("j");
	if (!await page.locator("#notice").isHidden())
		break;
	leaves.push(next);
}
check("j goes from call to call", leaves.length === 15 && leaves.every((l, i) => l.name === "leaf" && (!i || l.start > leaves[i - 1].start)), JSON.stringify(leaves));
check("behind the last there is none", (await notice()) === "A call of leaf is not found after this event.", await notice());
await page.evaluate(() => { document.querySelector("#notice").hidden = true; });
check("k goes back", (await step("k")).start === leaves[13].start, JSON.stringify(await picked()));
check("the list is there as well", (await page.locator("#list .row.now").innerText()).includes("} /* leaf */"), await page.locator("#list .row.now").innerText());
const row = await page.evaluate(() => window.uftView.list.current);
await step("J");
check("J goes to the next event of the task", await page.evaluate(() => window.uftView.list.current) === row + 1, await page.evaluate(() => window.uftView.list.current));
await step("K");
check("K goes back", await page.evaluate(() => window.uftView.list.current) === row, await page.evaluate(() => window.uftView.list.current));
await page.fill("#filter", `func == "leaf" || func == "rest"`);
await page.keyboard.press("Enter");
await page.waitForFunction(() => document.querySelector("#range-text").textContent === "42 events");
await step("J");
await step("J");
check("of what the filter shows", / (leaf|rest)(\(| )/.test(await page.locator("#list .row.now").innerText()), await page.locator("#list .row.now").innerText());
await page.fill("#filter", "");
await page.keyboard.press("Enter");
await canvas.focus();
await page.keyboard.press("?");
check("the help has them", /j\s*k\s*next, previous call/.test(await page.locator("#keys").innerText()) && /J\s*K\s*next, previous event/.test(await page.locator("#keys").innerText()));
await page.keyboard.press("Escape");
// A row that is out of view comes into it.
await page.setViewportSize({ width: 1280, height: 300 });
await page.evaluate(() => { const g = window.uftView.graph; g.scrollBy(1e5); g.picked = null; g.due(); });
await page.waitForFunction(() => window.uftView.graph.scroll > 0 || window.uftView.graph.place().at(-1).y < 200);
await page.evaluate(() => { window.uftView.reports.func = "leaf"; window.uftView.graph.a = 0; });
await step("j");
check("j of a function alone, and its row comes into view", (await picked()).start === leaves[0].start && await page.evaluate(() => {
	const g = window.uftView.graph, p = g.place().find(q => q.row === g.picked.row), y = p.y + g.laneTop(p.row, g.picked.lane);
	return y >= 26 && y < g.canvas.clientHeight - 8;
}), JSON.stringify(await picked()));

// In a narrow window no button is cut off, with the details open.
await page.setViewportSize({ width: 500, height: 800 });
check("the details are open", await pane.isVisible());
const cut = await page.evaluate(() => [...document.querySelectorAll("header button, header input, .nav button, #details button")].filter(e => e.checkVisibility()).filter(e => { const r = e.getBoundingClientRect(); return r.right > innerWidth + 1 || r.left < 0 || r.width < 10; }).map(e => e.id || e.textContent));
check("no button is cut off in a narrow window", !cut.length, cut.join());

// Nothing is wrong for users of screen readers, dark and light.
await page.evaluate(readFileSync(join(dirname(library), "../axe-core/axe.min.js"), "utf8"));
await page.setViewportSize({ width: 1280, height: 800 });
for (const dark of [false, true]) {
	if (await page.evaluate(() => document.documentElement.dataset.theme === "dark") !== dark)
		await page.click("#theme");
	for (const key of ["l", "c"]) {
		await canvas.focus();
		await page.keyboard.press("0");
		await page.keyboard.press(key);
		await page.waitForFunction(() => window.uftView.graph.pending === 0);
		await page.mouse.click(box.x + at.x, box.y + at.y);
		await whole();
		const found = await page.evaluate(async () => (await window.axe.run(document, { preload: false, resultTypes: ["violations"] })).violations.map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`));
		check(`axe finds nothing, ${dark ? "dark" : "light"}, ${key}`, !found.length, found.join("; "));
	}
}
check("no error in the page", !said.length, said.join("; "));
await done();
