// SPDX-License-Identifier: MIT
// diff.mjs PLAYWRIGHT CHROMIUM URL - the page with two recordings, the second of which waits longer; prints `ok WHAT` or `not ok WHAT: SEEN`
import { check, start } from "./browser.mjs";
const [library, executablePath, url] = process.argv.slice(2);
const { page, done } = await start(library, executablePath);
await page.goto(`${url}#file=1&tab=diff`);
await page.waitForSelector("body[data-ready]");
await page.waitForSelector("#diff canvas");
const rows = () => page.evaluate(() => [...document.querySelectorAll("#diff .row:not(.head)")].map(r => [...r.children].map(c => c.textContent)));
const head = () => page.evaluate(() => [...document.querySelector("#diff .row.head").children].map(c => c.textContent).join());
const by = what => page.getByLabel("What is compared").selectOption(what);
const widest = () => page.evaluate(() => Object.fromEntries(window.uftView.diff.graph.placed.map(p => [p.node.name, p.node.value])));
const summary = () => page.locator("#diff .bar-of-fields > span").innerText();

check("by time", (await head()).startsWith("change,what,self A,self B,"), await head());
await by("blocked time");
let first = (await rows())[0];
check("by blocked time", (await head()).startsWith("change,what,blocked A,blocked B,"), await head());
check("what waits longer comes first", first[0].startsWith("+") && first[1] === "longer" && first.at(-1).endsWith("order;rest"), first.join(" | "));
let values = await widest();
check("widths are of those who wait, and of their callers", values.rest > 100e6 && values.order === values.rest && !values.spin, JSON.stringify(values));
check("what all have waited", /^[\d.]+ ms → [\d.]+ ms \(\+/.test(await summary()), await summary());
await page.getByLabel("Widths of the flame graph").selectOption("a");
check("or of A", (await widest()).rest < values.rest, JSON.stringify(await widest()));
await page.getByLabel("Widths of the flame graph").selectOption("b");
await by("calls");
first = (await rows())[0];
check("by calls", first[0] === "+36" && first[1] === "more" && first.at(-1).endsWith("spin"), first.join(" | "));
values = await widest();
check("widths are calls", values.spin === 40 && values.main === 51, JSON.stringify(values));
await by("time without a CPU");
check("by time without a CPU", (await head()).startsWith("change,what,no CPU A,no CPU B,") && (await widest()).rest > 100e6, await head());
await page.waitForFunction(() => location.hash.includes("diff=3"));
await page.reload();
await page.waitForSelector("body[data-ready]");
await page.waitForSelector("#diff canvas");
check("the address keeps that", (await head()).startsWith("change,what,no CPU A,"), await head());
await done();
