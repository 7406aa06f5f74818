/* SPDX-License-Identifier: MIT */
/* main.ts - the page: connects graph, list and reports; the address holds the state of the page, so that a user can keep and share it */
import { button, make } from "./make";
import { Api, Counters, Exported, Files, Info, ListRow } from "./api";
import { EventList } from "./list";
import { Graph, Hit, Row } from "./graph";
import { DetailsView, Selected } from "./details";
import { DiffView } from "./diff";
import { clamp, count, exactTime, many, moment, parseTime, time } from "./format";
import { Choice, Menu } from "./menu";
import { PlotView } from "./plot";
import { Reports } from "./reports";
import { Seeker } from "./seek";

function element<T extends HTMLElement>(id: string): T {
	const e = document.getElementById(id);
	if (!e)
		throw new Error(`the page lacks #${id}`);
	return e as T;
}

/* The keys by subject: keys, with a bar between those that do the same, and their action. */
const keys: [string, [string, string][]][] = [
	["Time", [
		["wheel | w s | + -", "zoom at the pointer"], ["drag | Shift wheel", "move in time"], ["a d | ← →", "move in time"], ["0", "the whole recording"],
		["f", "zoom to A~B, or to the selected call"], ["double click", "zoom to a call"],
	]],
	["Markers", [
		["1 2", "set A or B at the pointer"], ["Shift drag | drag the scale", "mark from A to B"], ["m", "mark the selected call"], ["x", "remove the markers"],
	]],
	["Find and filter", [["/", "find a name"], ["n N", "next, previous match"], ["j k", "next, previous call of the same function"], ["J K", "next, previous event of the same task"], ["F", "edit the filter"]]],
	["Rows and calls", [
		["↑ ↓ | wheel on the names", "move through the rows"], ["click a name", "open or close its row"], ["click \u201cdeeper\u201d", "make deep calls high, or thin"],
		["click a call", "select it; list and Latency follow"], ["Esc", "clear the selection"], ["right click | .", "menu of a call, row or event"],
	]],
	["Views", [["l g c", "list, flame graph, call tree"], ["h p D", "latency, plot, difference"], ["i", "details of the selection"], ["o", "offsets of recordings on one clock"], ["e", "export the visible part, or A~B"], ["t", "dark or light"], ["?", "this table"]]],
];

const api = new Api(), menu = new Menu();
const tabs = ["list", "flame", "tree", "latency", "plot", "diff"];
let info: Info | null = null, tab = "list", tid = 0, isStarting = true, files: Files = { files: [], formats: [] };
const filterState = element("filter-state"), tip = element("tip"), notice = element("notice");
const filterInput = element<HTMLInputElement>("filter"), searchInput = element<HTMLInputElement>("search");

function setFilterState(text: string, isBad = false): void {
	filterState.textContent = text;
	filterState.classList.toggle("bad", isBad);
}

function showNotice(text: string): void {
	notice.textContent = text;
	notice.hidden = !text;
}

function showTip(text: string, x: number, y: number): void {
	tip.hidden = !text;
	tip.textContent = text;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	tip.style.left = `${Math.min(x + 14, innerWidth - w - 8)}px`;
	tip.style.top = `${y + 18 + h > innerHeight ? y - h - 10 : y + 18}px`;
}

const graph: Graph = new Graph(element<HTMLCanvasElement>("canvas"), element("vscroll"), api, {
	onView: () => { saveSoon(); showRange(); },
	onPick: (hit: Hit | null, t: number) => {
		if (hit?.kind === "call" && !hit.row.isCpu && hit.calls === 1)
			setFunction(hit.name);
		graph.a = hit && hit.calls === 1 ? Math.max(0, hit.start) : t;
		showMarkers();
		void list.showTime(graph.a);
		selectHit(hit, t);
	},
	onMark: () => showMarkers(),
	onHover: (hit: Hit | null, t: number, x: number, y: number) => {
		element("hover").textContent = x ? `pointer at ${moment(t, (graph.to - graph.from) / 1000)}` : "";
		if (!hit)
			return showTip("", 0, 0);
		const several = hit.calls > 1 && !hit.row.isCpu ? { call: "calls, most of the time ", state: "stretches, most of the time ", event: "events, one of them ", lost: "", drop: "", value: "" }[hit.kind] : "";
		if (hit.kind === "value")
			return showTip(`${hit.row.label}: ${hit.name}\nat ${moment(t, 1)}`, x, y);
		showTip(`${several && `${count(hit.calls)} ${several}`}${hit.name}\n${hit.len ? time(hit.len) + ", " : ""}from ${moment(hit.start, 1)}\n${hit.row.label}${hit.row.isCpu || hit.kind !== "call" ? "" : `, depth ${hit.lane}`}`, x, y);
	},
	onName: (row, x, y) => {
		element("hover").textContent = "";
		showTip(row?.title ?? "", x, y);
	},
	onMenu: (hit, row, t, x, y) => { showTip("", 0, 0); menu.open(x, y, choices(hit, row, t)); },
	onError: text => setFilterState(text, true),
	onProgress: p => setFilterState(`${Math.round(p * 100)} % …`),
	onPicture: () => showLegend(),
	onMatches: n => setFilterState(graph.filter ? `${count(n)} of ${count(info?.events ?? 0)} events` : ""),
});

/* Shows the meaning of the colours of strips, events and losses. */
function showLegend(): void {
	const legend = graph.legend, text = legend.join();
	if (element("legend").dataset["of"] === text)
		return;
	element("legend").dataset["of"] = text;
	element("legend").replaceChildren(...legend.flatMap(([what, colour]) => {
		const chip = make("i");
		chip.style.background = colour;
		return [chip, make("span", {}, what)];
	}));
}

const list: EventList = new EventList(element("list"), api, {
	onChoose: (row: ListRow) => {
		graph.a = row.t;
		graph.reveal(row.t);
		if (row.event !== "lost")
			setFunction(row.name);
		showMarkers();
		selectRow(row);
	},
	onMenu: (row, x, y) => menu.open(x, y, choicesOfRow(row)),
	onError: text => setFilterState(text, true),
	onTotal: () => { if (tab === "list") showRange(); },
});

const reports: Reports = new Reports(element("flame"), element("tree"), element("latency"), api, {
	onFunction: name => setFunction(name),
	onTip: showTip,
	onError: text => showNotice(text),
	onChoice: () => saveSoon(),
	onLongest: h => {
		const task = info?.tasks.find(t => t.tid === h.longest_tid && (api.file !== "all" || t.file === h.longest_file)), row = task && graph.rows.find(r => r.key === task.row);
		if (!row)
			return;
		graph.a = h.longest_t;
		graph.show(h.longest_t - h.max, h.longest_t + 2 * h.max);
		showMarkers();
		void list.showTime(h.longest_t);
		select({ row, t: h.longest_t, depth: h.longest_depth, name: h.func, len: h.max });
	},
}, (from, to) => {
	const name = reports.func.replace(/["\\]/g, "?");
	setFilter(`func == "${name}" && duration >= ${from} && duration <= ${Math.min(to, 4294967295)}`);
});

const plot: PlotView = new PlotView(element("plot"), api, {
	onRange: (from, to) => graph.show(from, to),
	onTime: t => { graph.a = t; showMarkers(); void list.showTime(t); },
}, () => { reportSoon(); saveSoon(); }, spec => addValues(spec));

const diff: DiffView = new DiffView(element("diff"), api, { onFunction: name => setFunction(name), onTip: showTip }, () => saveSoon());

/* ---- The selection ---- */

const details: DetailsView = new DetailsView(element("details"), api, row => {
	const file = api.file === "all" ? row.file : api.file;
	return { file, offset: api.file === "all" ? info?.sources[row.file]?.offset ?? 0 : 0, a: graph.a, b: graph.b, hasStates: graph.legend.some(([what]) => what === "blocked"), first: info?.first_ns ?? 0 };
}, {
	onSelect: s => { graph.a = s.t; graph.reveal(s.t); showMarkers(); void list.showTime(s.t); select(s); },
	onFound: s => {
		graph.picked = { row: s.row, lane: s.depth ?? 0, start: s.t, len: Math.max(0, s.len), name: s.name, calls: 1, kind: s.depth === null ? "event" : "call" };
		if (s.depth !== null)
			setFunction(s.name);
		graph.revealRow(s.row, s.depth ?? 0);
		saveSoon();
	},
	onMark: (from, to) => { [graph.a, graph.b] = [from, to]; showMarkers(); },
	onZoom: (from, to) => graph.show(from - (to - from) * 0.05 - 10, to + (to - from) * 0.05 + 10),
	onClose: () => { showDetails(false); element("canvas").focus(); },
});

/* The pane opens with the first selection; after the user has closed it, it stays closed. */
let isPaneClosed = false;
function showDetails(is: boolean, byHand = true): void {
	if (byHand)
		isPaneClosed = !is;
	if (!!element("details").hidden !== is)
		return;
	element("details").hidden = !is;
	element("details-button").setAttribute("aria-pressed", String(is));
	saveSoon();
}

function select(s: Selected): void {
	if (!isPaneClosed)
		showDetails(true, false);
	void details.show(s);
}

const isCallRow = (r: ListRow): boolean => /^func|^left$/.test(r.event);

/* The row of the graph that has the calls of a thread. */
function rowOf(r: ListRow): Row | undefined {
	const task = info?.tasks.find(t => t.tid === r.tid && t.pid === r.pid && (api.file !== "all" || t.file === r.file));
	return task && graph.rows.find(row => row.key === task.row);
}

/* Selects the call under the pointer, also where short calls are drawn together. */
function selectHit(hit: Hit | null, t: number): void {
	const row = hit && (hit.row.isProcess ? graph.rows.find(r => r.key === hit.row.shows) ?? hit.row : hit.row);
	if (!hit || !row)
		return details.forget();
	if (!row.isCpu && (hit.kind === "call" || hit.kind === "event"))
		return select({ row, t: hit.kind === "event" || hit.calls === 1 ? Math.max(0, hit.start) : t, depth: hit.kind === "call" ? hit.lane : null, name: hit.name, len: hit.calls === 1 ? hit.len : -1 });
	if (!isPaneClosed)
		showDetails(true, false);
	details.tell(hit.name, [["row", row.label], ["begins", moment(hit.start, 1)], ...hit.len ? [["ends", moment(hit.start + hit.len, 1)], ["duration", time(hit.len)]] as [string, string][] : [], ...hit.calls > 1 && hit.kind !== "lost" ? [["drawn together", count(hit.calls)]] as [string, string][] : []]);
}

function selectRow(r: ListRow): void {
	const row = rowOf(r), isCall = /^funcgraph|^left$/.test(r.event) || !!r.of_call;
	if (!row || r.event === "lost")
		return details.tell(r.event === "lost" ? `${count(r.lost ?? 0)} events lost` : r.name, [["time", moment(r.t, 1)], ["CPU", String(r.cpu)]]);
	select({ row, t: isCall ? r.t - (r.duration ?? 0) : r.t, depth: isCall ? r.depth : null, name: isCall || ["function", "print", "event"].includes(r.event) ? r.name : `${r.event}: ${r.name}`, len: -1 });
}

function range(): [number, number] {
	let [from, to] = graph.a !== null && graph.b !== null && graph.a !== graph.b ? [Math.min(graph.a, graph.b), Math.max(graph.a, graph.b)] : [graph.from, graph.to];
	from = clamp(Math.floor(from), 0, graph.duration - 1);
	return [from, clamp(Math.ceil(to), from + 1, graph.duration)];
}

function showRange(): void {
	const [from, to] = range(), marked = graph.a !== null && graph.b !== null;
	element("range-text").textContent = tab === "diff" ? "of the whole recordings" : tab === "list" ? many(list.total, "event") : `of ${marked ? "A~B" : "the visible part"}: ${time(to - from)}`;
	if (tab !== "list")
		reportSoon();
}

function showMarkers(): void {
	const { a, b } = graph, text = (name: string, t: number | null): string[] => t === null ? [] : [`${name} ${moment(t, 1)}`];
	element("marker-text").textContent = [...text("A", a), ...text("B", b), ...a !== null && b !== null ? [`Δ ${time(Math.abs(b - a))}`] : []].join(" · ");
	graph.due();
	showRange();
	saveSoon();
}

function setFunction(name: string): void {
	reports.func = plot.func = name;
	if (tab === "latency" || tab === "plot")
		reportSoon();
}

let reportTimer = 0;
function reportSoon(): void {
	clearTimeout(reportTimer);
	reportTimer = window.setTimeout(() => {
		const [from, to] = range();
		if (!info || info.state !== "done")
			return;
		if (tab === "latency")
			void reports.loadLatency(from, to, tid);
		else if (tab === "flame" || tab === "tree")
			void reports.load(from, to, tid);
		else if (tab === "plot")
			void plot.load(from, to, tid);
		else if (tab === "diff")
			void diff.load();
	}, 150);
}

function setTab(name: string): void {
	tab = tabs.includes(name) ? name : "list";
	for (const b of document.querySelectorAll<HTMLElement>("[data-tab]")) {
		const is = b.dataset["tab"] === tab;
		b.setAttribute("aria-selected", String(is));
		element(b.dataset["tab"] ?? "").hidden = !is;
	}
	showRange();
	if (tab === "list")
		list.draw();
	saveSoon();
}

function showFiltered(text: string): void {
	graph.filter = list.filter = reports.filter = plot.filter = text;
	if (tab !== "list")
		reportSoon();
}

function setFilter(text: string): void {
	filterInput.value = text;
	if (graph.filter === text)
		return;
	showFiltered(text);
	setFilterState(text ? "…" : "");
	graph.due();
	list.reset(text ? 1 : info?.events ?? 0);
	saveSoon();
}

function setFind(text: string): void {
	graph.find = list.find = reports.find = diff.graph.find = text;
	graph.due();
	list.draw();
	diff.graph.draw();
}

async function findNext(back: boolean): Promise<void> {
	const text = searchInput.value;
	setFind(text);
	const found = text ? await seeker.seek(`'${text}'`, { text }, list.current >= 0 ? list.current : list.first, back) : null;
	if (!found)
		return;
	list.showRow(found.row);
	graph.a = found.t;
	graph.reveal(found.t);
	showMarkers();
}

const seeker: Seeker = new Seeker(api, {
	filter: () => graph.filter,
	selected: () => ({ hit: graph.picked, name: reports.func, row: details.selected?.row ?? graph.picked?.row ?? null, t: graph.a ?? graph.from, at: list.current }),
	taskOf: row => info?.tasks.find(t => t.row === row.shows),
	rowOf: r => rowOf(r),
	onNotice: text => text || !info ? showNotice(text) : tell(info),
	onFound: (row, r) => {
		const begin = r.t - (r.duration ?? 0);
		list.showRow(row);
		graph.a = begin;
		graph.reveal(begin);
		if (isCallRow(r))
			setFunction(r.name);
		showMarkers();
		selectRow(r);
	},
});

/* ---- The address ---- */

let saveTimer = 0;
function saveSoon(): void {
	if (isStarting)
		return;
	clearTimeout(saveTimer);
	saveTimer = window.setTimeout(() => {
		const p = new URLSearchParams(), put = (k: string, v: number | null): void => { if (v !== null) p.set(k, String(Math.round(v))); };
		put("from", graph.from);
		put("to", graph.to);
		put("a", graph.a);
		put("b", graph.b);
		if (graph.filter)
			p.set("filter", graph.filter);
		if (tab !== "list")
			p.set("tab", tab);
		if (reports.func)
			p.set("func", reports.func);
		if (api.file)
			p.set("file", String(api.file));
		if (api.hasShift)
			p.set("shift", api.shift.join());
		const hidden = graph.rows.filter(r => r.isHidden).map(r => r.label).slice(0, 100);
		if (hidden.length)
			p.set("hide", hidden.join("\n"));
		for (const [name, v] of [["tid", tid], ["widths", reports.widths], ["diff", diff.by], ["plot", plot.choice], ["folded", reports.calls.folds]] as const)
			if (v)
				p.set(name, String(v));
		for (const [name, isOpen] of [["open", true], ["shut", false]] as const) {
			const of = graph.rows.filter(r => r.isToggled && !r.isProcess && r.isOpen === isOpen).map(r => r.key).slice(0, 200);
			if (of.length)
				p.set(name, of.join());
		}
		const deep = graph.rows.filter(r => r.isDeep).map(r => r.key).slice(0, 200);
		if (deep.length)
			p.set("deep", deep.join());
		const closed = graph.rows.filter(r => r.isProcess && !r.isOpen).map(r => r.group).slice(0, 200);
		if (closed.length)
			p.set("closed", closed.join());
		const values = graph.rows.flatMap(r => r.values && !counters.has(r.values.spec) ? [r.values.spec] : []);
		if (values.length)
			p.set("values", JSON.stringify(values));
		if (details.selected && !element("details").hidden)
			p.set("sel", [details.selected.row.key, details.selected.depth ?? "e", Math.round(details.selected.t), ...details.selected.depth === null ? [details.selected.name] : []].join());
		if (isReordered && graph.rows.length <= 300)
			p.set("order", graph.rows.map(r => r.key).join());
		history.replaceState(null, "", `#${p}`);
	}, 200);
}

/* The rows of values that the address names. Addresses are untrusted. */
function valuesIn(text: string): string[] {
	try {
		const all: unknown = JSON.parse(text);
		return Array.isArray(all) ? all.filter((s): s is string => typeof s === "string" && /^[ef]/.test(s)).slice(0, 32) : [];
	} catch {
		return [];
	}
}

/* The offsets that the address names. */
function shiftIn(p: URLSearchParams): number[] {
	const all = (p.get("shift") ?? "").split(",").filter(ns => ns).map(Number);
	return all.length <= 64 && all.every(ns => Number.isInteger(ns) && Math.abs(ns) < 1e18) ? all : [];
}

/* The hidden rows and the order of rows, also for rows that come later. */
let saved = new URLSearchParams();
function restoreRows(): void {
	const p = saved, hidden = new Set((p.get("hide") ?? "").split("\n"));
	for (const r of graph.rows)
		r.isHidden = hidden.has(r.label);
	isReordered = p.has("order");
	if (isReordered)
		graph.setOrder((p.get("order") ?? "").split(",").map(Number));
	graph.due();
}

/* Restores the state in the address. Returns when its picture is drawn. */
function restore(): Promise<void> {
	const p = saved = new URLSearchParams(location.hash.slice(1)), number = (k: string): number | null => p.get(k) !== null && Number.isFinite(Number(p.get(k))) ? Number(p.get(k)) : null;
	const from = number("from"), to = number("to");
	for (const spec of valuesIn(p.get("values") ?? "[]"))
		graph.addValues(spec);
	graph.a = number("a");
	graph.b = number("b");
	if (p.has("closed")) {
		const closed = new Set((p.get("closed") ?? "").split(",").map(Number));
		for (const r of graph.rows)
			r.isOpen = r.isProcess ? !closed.has(r.group) : r.isOpen;
	}
	for (const [name, isOpen] of [["open", true], ["shut", false]] as const) {
		const of = new Set((p.get(name) || "none").split(",").map(Number));
		for (const r of graph.rows.filter(row => !row.isProcess && of.has(row.key)))
			[r.isOpen, r.isToggled] = [isOpen, true];
	}
	const deep = new Set((p.get("deep") || "none").split(",").map(Number));
	for (const r of graph.rows)
		r.isDeep = deep.has(r.key);
	tid = number("tid") ?? 0;
	reports.widths = number("widths") ?? 0;
	diff.by = number("diff") ?? 0;
	plot.choice = p.get("plot") ?? "";
	reports.calls.folds = p.get("folded") ?? "";
	restoreRows();
	reports.func = plot.func = p.get("func") ?? "";
	if (from === null && to === null)
		graph.whole();
	else
		graph.show(from ?? 0, Math.min(to || graph.duration, graph.duration * 1.05));
	filterInput.value = p.get("filter") ?? "";
	showFiltered(filterInput.value);
	restoreSelected(p.get("sel") ?? "");
	const picture = graph.ask();	/* before the list: the server answers one question at a time */
	setTab(p.get("tab") ?? "list");
	return picture;
}

/* Restores the selection, if what the address names exists. */
function restoreSelected(text: string): void {
	const [, key, depth, t, name] = /^(-?\d+),(e|\d{1,3}),(\d{1,15})(?:,(.*))?$/s.exec(text) ?? [], row = graph.rows.find(r => r.key === Number(key));
	if (row && !row.isCpu && !row.values)
		select({ row, t: Number(t), depth: depth === "e" ? null : Number(depth), name: name ?? "", len: -1 });
	else
		details.forget();
}

/* ---- Starting ---- */

function about(i: Info): string {
	const parts = [`${count(i.events)} events`, `${count(i.calls)} calls`, time(i.duration), `${(i.bytes / 1e6).toFixed(1)} MB`, i.hostname, i.cmdline];
	return parts.filter(x => x).join(" · ");
}

function tell(i: Info): void {
	const said = i.missing.map(m => `Missing: ${m}.`);
	if (!i.events)
		said.push("The recording has no events.");
	if (api.file === "all" && !i.aligned && !api.hasShift)
		said.push("The recordings are of different boots or machines: their times are compared by the date. Correct them with Offsets (o).");
	showNotice(said.join(" "));
}

/* Shows the part of a recording that has been read so far: only the graph, which fills from the left. */
let previewOf = 0;
function showPreview(i: Info): void {
	if (!i.preview || i.preview === previewOf)
		return;
	const isWhole = !previewOf || graph.to >= graph.duration;
	previewOf = i.preview;
	graph.load(i);
	if (isWhole)
		graph.whole();
	graph.due();
}

/* Loads the recording: waits until it has been read. @isQuiet: the page keeps its contents meanwhile. */
let early: Promise<Info> | null = null;	/* the first request of the page */
async function load(isQuiet = false): Promise<void> {
	isStarting = true;
	previewOf = 0;
	showTip("", 0, 0);
	for (;;) {
		info = await (early ?? api.once<Info>("info", {}));
		early = null;
		if (info.state !== "working")
			break;
		if (!isQuiet) {
			showNotice(`Reading ${info.path}: ${Math.round(info.progress * 100)} %`);
			showPreview(info);
		}
		await new Promise(resolve => setTimeout(resolve, 100));
	}
	if (info.state === "failed") {
		document.body.dataset["failed"] = "1";
		return showNotice(`${info.path}: ${info.error ?? "cannot be read"}`);
	}
	document.title = `${api.file === "all" ? "all recordings" : info.path.replace(/.*\//, "")} - uft view`;
	element("about").textContent = element("about").title = about(info);
	tell(info);
	(element("follow").parentElement as HTMLElement).hidden = !!info.complete;
	element("offsets").hidden = api.file !== "all";
	graph.load(info);
	reports.forget();
	plot.forget();
	diff.forget();
	plot.setChoices(info.plots);
	const picture = restore();
	list.setFlags(!!info.flags);
	list.isMerged = info.sources.length > 1;
	list.reset(graph.filter ? 1 : info.events);
	isStarting = false;
	showMarkers();
	void picture.then(showCounters);
	document.body.dataset["ready"] = "1";
}

/* Adds rows for the counters of the program or the kernel. Finding them takes a pass over the recording, if it has such events. */
const counters = new Set<string>(), rowsOfCounters = 12;
async function showCounters(): Promise<void> {
	const of = info;
	try {
		const found = await api.ask<Counters>("counters", {});
		if (of !== info)
			return;
		for (const c of found.counters.slice(0, rowsOfCounters)) {
			const spec = `e${c.field}\n${c.track}`;
			counters.add(spec);
			graph.addValues(spec);
		}
		restoreRows();
	} catch (e) {
		showNotice(e instanceof Error ? e.message : String(e));
	}
}

/* Reads a recording that has grown again. A view that reached its end goes on to the new end. */
async function readAgain(): Promise<void> {
	const was = graph.duration, { from, to } = graph, isAtEnd = to >= was, begun = performance.now();
	await api.once("reload", {});
	await load(true);
	if (isAtEnd && from <= 0)
		graph.whole();
	else if (isAtEnd)
		graph.show(from + graph.duration - was, to + graph.duration - was);
	readTime = performance.now() - begun;
}

/* Reads a growing recording again and again, for at most a quarter of the time. */
let readTime = 0, readAt = 0;
async function watchFile(): Promise<void> {
	try {
		const now = await api.once<Info>("info", {});
		if (!now.changed || info?.state !== "done")
			return;
		if (element<HTMLInputElement>("follow").checked && !now.complete) {
			if (performance.now() - readAt < 4 * readTime)
				return;
			await readAgain();
			readAt = performance.now();
			return;
		}
		showNotice("The file has changed, or is gone: this page shows its earlier contents. ");
		notice.append(button("Read it again", "", () => void readAgain()));
	} catch {
		showNotice("uft view has ended.");
	}
}

/* ---- Menus ---- */

function addToFilter(term: string): void {
	setFilter(graph.filter ? `(${graph.filter}) && ${term}` : term);
}

let isReordered = false;
function moveRow(row: Row, by: number): void {
	isReordered = true;
	graph.moveRow(row, by);
}

function quote(text: string): string { return `"${text.replace(/["\\]/g, "?")}"`; }

/* The choices to show only the matches of a term, or to hide them. */
function onlyOrNot(what: string, only: string, not: string): Choice[] {
	return [{ text: `Show only ${what}`, act: () => addToFilter(only) }, { text: `Hide ${what}`, act: () => addToFilter(not) }];
}

const ofFunction = (name: string): Choice[] => [...onlyOrNot(name, `func == ${quote(name)}`, `func != ${quote(name)}`), { text: `Latencies of ${name}`, act: () => { setFunction(name); setTab("latency"); } },
	{ text: `Plot ${name} over time`, act: () => { setFunction(name); setTab("plot"); } }, { text: `Durations of ${name} as a row`, act: () => addValues(`f${name}`) }];
const ofEvent = (event: string): Choice[] => onlyOrNot(`events ${event}`, `func ~ ${quote(`${event}: *`)}`, `!(func ~ ${quote(`${event}: *`)})`);
const ofTask = (label: string, id: number): Choice[] => onlyOrNot(`events of ${label}`, `common_pid == ${id}`, `common_pid != ${id}`);
const ofCpu = (cpu: number): Choice[] => onlyOrNot(`events of CPU ${cpu}`, `CPU == ${cpu}`, `CPU != ${cpu}`);

function markHere(t: number): Choice[] {
	return [{ text: "Marker A here", act: () => { graph.a = t; showMarkers(); } }, { text: "Marker B here", act: () => { graph.b = t; showMarkers(); } }];
}

const noFilter = (): Choice[] => graph.filter ? [{ text: "Remove the filter", act: () => setFilter("") }] : [];

function choices(hit: Hit | null, row: Row | null, t: number): Choice[][] {
	const calls: Choice[] = [], rows: Choice[] = [], changed = (): void => { graph.due(); saveSoon(); };
	if (hit?.kind === "call" && !hit.row.isCpu && hit.name)
		calls.push(...ofFunction(hit.name), ...hit.calls === 1 ? ([["Next", false], ["Previous", true]] as const).map(([text, back]): Choice => ({ text: `${text} call of ${hit.name}`, act: () => { graph.picked = hit; void seeker.stepCall(back); } })) : []);
	if (hit?.kind === "call" && !hit.row.isCpu && hit.name && hit.len)
		calls.push({ text: "Zoom to this call", act: () => graph.show(hit.start - hit.len * 0.05 - 10, hit.start + hit.len * 1.05 + 10) }, { text: "Mark this call from A to B", act: () => { graph.a = hit.start; graph.b = hit.start + hit.len; showMarkers(); } });
	if (hit?.kind === "event" && hit.name.includes(": "))
		calls.push(...ofEvent(hit.name.replace(/: .*/s, "")));
	if (row?.values)
		rows.push({ text: `Remove the row ${row.label}`, act: () => graph.removeValues(row) });
	if (row) {
		rows.push(...row.isCpu ? ofCpu(Number(row.label.replace(/.* /, ""))) : row.values || row.isProcess ? [] : ofTask(row.label, Number(row.label.replace(/.*-/, ""))));
		rows.push({ text: `Hide the row ${row.label}`, act: () => { row.isHidden = true; changed(); } });
		if (!row.isCpu && !row.values)
			rows.push({ text: `Show only rows of process ${row.pid}`, act: () => { for (const r of graph.rows) r.isHidden = !r.isCpu && !r.values && r.group !== row.group; changed(); } });
		if (graph.rows.some(r => r.isHidden))
			rows.push({ text: "Show all rows", act: () => { for (const r of graph.rows) r.isHidden = false; changed(); } });
		rows.push({ text: `Move ${row.label} up`, act: () => moveRow(row, -1) }, { text: `Move ${row.label} down`, act: () => moveRow(row, 1) }, { text: `Move ${row.label} to the top`, act: () => moveRow(row, -Infinity) });
		if (row.isOpen && graph.deeper(row))
			rows.push({ text: row.isDeep ? `Draw deep calls of ${row.label} thin` : `Draw deep calls of ${row.label} at full height`, act: () => { row.isDeep = !row.isDeep; changed(); } });
	}
	return [calls, markHere(t), rows, noFilter()];
}

/* The choices for a row of the list: filters know a row of a call by its function, others by their event. */
function choicesOfRow(r: ListRow): Choice[][] {
	const what = r.event === "lost" ? [] : isCallRow(r) ? ofFunction(r.name) : ofEvent(r.event);
	return [what, markHere(r.t), r.event === "lost" ? [] : [...ofTask(`${r.comm}-${r.tid}`, r.tid), ...ofCpu(r.cpu)], noFilter()];
}

function addValues(spec: string): void {
	graph.addValues(spec);
	saveSoon();
}

function openMenu(): void {
	const p = graph.picked, box = element("canvas").getBoundingClientRect();
	menu.open(box.left + (p ? graph.x(p.start) : 200), box.top + 60, choices(p, p?.row ?? null, p?.start ?? graph.from));
}

/* Fills and shows a dialog: a title, parts and buttons; the last button closes it. Parts of the class choices scroll. */
function fillDialog(dialog: HTMLDialogElement, text: string, parts: HTMLElement[], ...buttons: HTMLButtonElement[]): void {
	const close = button("Close", "", () => dialog.close());
	dialog.replaceChildren(make("h2", {}, text), ...parts, make("div", { className: "foot" }, ...buttons, close));
	dialog.showModal();
}

function labelled(text: string, field: HTMLElement): HTMLElement {
	return make("label", { className: "line" }, text, field);
}

/* The readers of each format of an export. */
const opens: Record<string, string> = {
	"trace.dat": "trace-cmd, KernelShark", "trace.dat-v7": "trace-cmd, KernelShark; not compressed", "trace.dat-v6": "older trace-cmd", folded: "flamegraph.pl", svg: "a flame graph as a picture", speedscope: "speedscope.app", firefox: "profiler.firefox.com",
	chrome: "chrome://tracing, Perfetto", perfetto: "ui.perfetto.dev", pprof: "go tool pprof", sqlite: "sqlite3", parquet: "calls for DuckDB, pandas", "parquet-events": "events for DuckDB, pandas", otlp: "OpenTelemetry",
};

function showExport(): void {
	const dialog = element<HTMLDialogElement>("exporter"), said = make("p", { role: "status" });
	const format = make("select", { ariaLabel: "Format" }, ...files.formats.map(f => new Option(opens[f] ? `${f}: ${opens[f]}` : f, f)));
	const [from, to] = range();
	format.value = "perfetto";
	said.textContent = `${graph.a !== null && graph.b !== null ? "From A to B" : "The visible part"}: ${time(to - from)}${tid ? `, thread ${tid}` : ", all tasks"}.`;
	const go = button("Export", "", async () => {
		go.disabled = true;
		said.textContent = "writing …";
		try {
			const made = await api.ask<Exported>("export", { format: format.value, from, to, tid });
			const name = (info?.path.replace(/.*\//, "").replace(/\.uft$/, "") ?? "trace") + made.suffix;
			make("a", { href: `exported?${new URLSearchParams({ file: String(api.file), number: String(made.export) })}`, download: name }).click();
			said.textContent = `${name}: ${(made.bytes / 1e6).toFixed(2)} MB`;
		} catch (e) {
			said.textContent = e instanceof Error ? e.message : String(e);
		}
		go.disabled = false;
	});
	fillDialog(dialog, "Export", [said, labelled("Format ", format)], go);
}

/* Loads all recordings with other offsets. Their times change, so the address drops the visible part and the markers. */
function setShift(shift: number[]): void {
	const p = new URLSearchParams(location.hash.slice(1));
	api.shift = shift;
	for (const key of ["shift", "from", "to", "a", "b"])
		p.delete(key);
	if (api.hasShift)
		p.set("shift", shift.join());
	clearTimeout(saveTimer);
	history.replaceState(null, "", `#${p}`);
	void load(true);
}

/* The dialog for times that the user adds to those of each recording, to align them. */
function showOffsets(): void {
	const dialog = element<HTMLDialogElement>("clocks"), table = make("table"), said = make("p", { role: "status" }, "Times to add to those of each recording: 0.5s, -20us; a number without a unit is seconds.");
	const { a, b } = graph, sources = info?.sources ?? [], first = Math.min(...sources.map(s => s.offset));
	if (api.file !== "all" || info?.state !== "done")
		return;
	const apply = (shift: number[]): void => { dialog.close(); setShift(shift); };
	const fields = sources.map((source, i) => {
		const row = table.insertRow(), field = make("input", { value: exactTime(source.shift), size: 16, ariaLabel: `Offset of ${source.path}` }), toB = button("A to B", "", () => apply(sources.map((s, j) => s.shift + (i === j ? Math.round((b ?? 0) - (a ?? 0)) : 0))));
		row.insertCell().textContent = `${i + 1}: ${source.path}`;
		row.insertCell().append(field);
		toB.disabled = a === null || b === null || a === b;
		toB.title = "Move this recording by the distance from marker A to marker B";
		row.insertCell().append(toB);
		return field;
	});
	const set = (): void => {
		const shift = fields.map(f => parseTime(f.value)), wrong = shift.indexOf(null);
		if (wrong < 0)
			return apply(shift.map(ns => ns ?? 0));
		said.textContent = `'${fields[wrong]?.value ?? ""}' is no time: write 0.5s or -20us.`;
		fields[wrong]?.focus();
	};
	for (const field of fields)
		field.addEventListener("keydown", e => { if (e.key === "Enter") set(); });
	fillDialog(dialog, "Offsets", [said, table], button("Apply", "", set), button("Begin together", "", () => apply(sources.map(s => Math.round(s.shift - (s.offset - first))))), button("No offsets", "", () => apply([])));
}

function setTheme(isDark: boolean): void {
	document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
	localStorage.setItem("uft-theme", isDark ? "dark" : "light");
	graph.setTheme(isDark);
	reports.setTheme(isDark);
	diff.setTheme(isDark);
	plot.redraw();
	if (tab === "plot" && !isStarting)
		reportSoon();
}

function showKeys(): void {
	const dialog = element<HTMLDialogElement>("keys"), box = make("div", { className: "columns" });
	for (const [about, of] of keys) {
		const table = make("table");
		for (const [all, does] of of) {
			const row = table.insertRow();
			row.insertCell().append(...all.split(" | ").flatMap((one, i) => [...i ? [" or "] : [], ...(/^\S( \S)*$/.test(one) ? one.split(" ") : [one]).flatMap((key, j) => [...j ? [" "] : [], make("kbd", {}, key)])]));
			row.insertCell().textContent = does;
		}
		box.append(make("section", {}, make("h3", {}, about), table));
	}
	fillDialog(dialog, "Keys and mouse", [box, make("p", {}, "The address of this page holds its state: part, markers, filter, rows and views. Save it as a bookmark, or share it.")]);
}

function chooseRows(): void {
	const dialog = element<HTMLDialogElement>("chooser"), only = make("input", { placeholder: "name", ariaLabel: "Rows whose name contains" }), box = make("div", { className: "choices" });
	const one = make("select", { ariaLabel: "Reports of" }, new Option("all tasks", "0"), ...graph.rows.filter(r => !r.isCpu && !r.isProcess && !r.values).slice(0, 2000).map(r => new Option(r.label, r.label.replace(/.*-/, ""))));
	one.value = String(tid);
	one.addEventListener("change", () => { tid = Number(one.value); reportSoon(); saveSoon(); });
	const all = (hide: boolean): HTMLButtonElement => button(hide ? "Hide these" : "Show these", "", () => { for (const r of shown()) r.isHidden = hide; fill(); changed(); });
	const shown = (): typeof graph.rows => graph.rows.filter(r => r.label.toLowerCase().includes(only.value.toLowerCase()));
	const changed = (): void => { graph.due(); saveSoon(); };
	const fill = (): void => box.replaceChildren(...shown().slice(0, 500).map(r => {
		const input = make("input", { type: "checkbox", checked: !r.isHidden }), label = make("label", { title: r.title }, input, ` ${r.label}`);
		input.addEventListener("change", () => { r.isHidden = !input.checked; changed(); });
		label.classList.toggle("nested", !!r.isNested);
		return label;
	}));
	only.addEventListener("input", fill);
	fill();
	fillDialog(dialog, "Rows", [make("div", { className: "line" }, only, all(false), all(true)), box, labelled("Flame graph, call tree, latency and plot show ", one)]);
}

function zoomToSelection(): void {
	if (graph.a !== null && graph.b !== null && graph.a !== graph.b)
		graph.show(Math.min(graph.a, graph.b), Math.max(graph.a, graph.b));
	else if (graph.picked)
		graph.show(graph.picked.start - 10, graph.picked.start + graph.picked.len + 10);
}

function markPicked(): void {
	const p = graph.picked;
	if (!p?.len)
		return;
	[graph.a, graph.b] = [p.start, p.start + p.len];
	showMarkers();
}

const actions: Record<string, () => void> = {
	"w": () => graph.zoom(0.7, graph.cursor || undefined), "+": () => graph.zoom(0.7), "s": () => graph.zoom(1.4, graph.cursor || undefined), "-": () => graph.zoom(1.4),
	"a": () => graph.pan(-0.2), "d": () => graph.pan(0.2), "ArrowLeft": () => graph.pan(-0.2), "ArrowRight": () => graph.pan(0.2),
	"ArrowUp": () => graph.scrollBy(-60), "ArrowDown": () => graph.scrollBy(60), "f": zoomToSelection, "0": () => graph.whole(),
	"1": () => { graph.a = Math.max(0, graph.cursor); showMarkers(); }, "2": () => { graph.b = Math.max(0, graph.cursor); showMarkers(); },
	"x": () => { graph.a = graph.b = null; showMarkers(); }, "/": () => searchInput.focus(), "n": () => void findNext(false), "N": () => void findNext(true),
	"j": () => void seeker.stepCall(false), "k": () => void seeker.stepCall(true), "J": () => void seeker.stepEvent(false), "K": () => void seeker.stepEvent(true),
	"F": () => filterInput.focus(), "l": () => setTab("list"), "g": () => setTab("flame"), "c": () => setTab("tree"), "h": () => setTab("latency"), "p": () => setTab("plot"), "D": () => setTab("diff"), "m": markPicked, ".": openMenu, "ContextMenu": openMenu, "i": () => showDetails(!!element("details").hidden), "Escape": () => { graph.picked = null; details.forget(); graph.due(); saveSoon(); }, "e": showExport, "o": showOffsets,
	"t": () => setTheme(document.documentElement.dataset["theme"] !== "dark"), "?": showKeys,
};

function listen(): void {
	document.addEventListener("keydown", e => {
		const target = e.target as HTMLElement;
		if (e.ctrlKey || e.altKey || e.metaKey || target.closest("dialog[open]"))
			return;
		if (target.matches("input, select")) {
			if (e.key === "Escape")
				element("canvas").focus();
			return;
		}
		const act = actions[e.shiftKey && e.key === "F10" ? "ContextMenu" : e.key];
		if (act) {
			e.preventDefault();
			act();
		}
	});
	element("filter-form").addEventListener("submit", e => { e.preventDefault(); setFilter(filterInput.value.trim()); });
	element("search-form").addEventListener("submit", e => { e.preventDefault(); void findNext(false); });
	searchInput.addEventListener("input", () => setFind(searchInput.value));
	element("find-next").addEventListener("click", () => void findNext(false));
	element("find-back").addEventListener("click", () => void findNext(true));
	element("whole").addEventListener("click", () => graph.whole());
	element("theme").addEventListener("click", () => actions["t"]?.());
	element("help").addEventListener("click", showKeys);
	element("details-button").addEventListener("click", () => showDetails(!!element("details").hidden));
	element("rows").addEventListener("click", chooseRows);
	element("offsets").addEventListener("click", showOffsets);
	element("export").addEventListener("click", showExport);
	for (const b of document.querySelectorAll<HTMLElement>("[data-tab]"))
		b.addEventListener("click", () => setTab(b.dataset["tab"] ?? "list"));
	const split = element("split"), below = element("below");
	split.addEventListener("pointerdown", e => split.setPointerCapture(e.pointerId));
	split.addEventListener("pointermove", e => {
		if (e.buttons)
			below.style.flexBasis = `${Math.max(60, innerHeight - e.clientY - 30)}px`;
	});
	window.addEventListener("hashchange", () => {
		const shift = shiftIn(new URLSearchParams(location.hash.slice(1)));
		if (api.file === "all" && shift.join() !== api.shift.join()) {
			api.shift = shift;
			return void load(true);
		}
		isStarting = true;
		void restore();
		isStarting = false;
	});
}

/*
 * The browser takes a picture (uft view --png) when the page is loaded. The page is not loaded while a document inside is open, so this document is
 * closed when all is drawn. A request follows its cause within `still` ms.
 */
const still = 400;
function holdPicture(): void {
	const frame = document.createElement("iframe");
	let idle = 0;
	frame.hidden = true;
	document.body.append(frame);
	frame.contentDocument?.open();
	const timer = setInterval(() => {
		const isBusy = !(document.body.dataset["ready"] || document.body.dataset["failed"]) || api.busy || graph.pending;
		idle = isBusy ? 0 : idle + 20;
		if (idle < still)
			return;
		clearInterval(timer);
		requestAnimationFrame(() => requestAnimationFrame(() => frame.contentDocument?.close()));
	}, 20);
}

async function start(): Promise<void> {
	performance.mark("begun");	/* for bench/view.mjs */
	const asked = new URLSearchParams(location.hash.slice(1)), file = asked.get("file") ?? "0";
	api.file = file === "all" ? "all" : Number(file) || 0;
	api.shift = shiftIn(asked);
	const of = api.file, all = api.once<Files>("files", {});
	early = api.once<Info>("info", {});
	early.catch(() => undefined);	/* `all` fails, too, and reports it */
	if (asked.has("picture"))
		holdPicture();
	const saved = localStorage.getItem("uft-theme");
	setTheme(saved ? saved === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
	listen();
	void graph.width;	/* lays the page out while the answers are on their way */
	files = await all;
	const select = element<HTMLSelectElement>("file");
	if (files.files.length > 1)
		select.append(new Option("all, on one clock", "all"));
	files.files.forEach((f, i) => select.append(new Option(f, String(i))));
	diff.setFiles(files.files);
	if (api.file !== "all")
		api.file = Math.min(files.files.length - 1, api.file);
	else if (files.files.length < 2)
		api.file = 0;
	const isShift = api.shift.length <= files.files.length;
	if (!isShift)
		api.shift = [];
	if (api.file !== of || !isShift)
		early = null;
	select.value = String(api.file);
	select.addEventListener("change", () => {
		api.file = select.value === "all" ? "all" : Number(select.value);
		location.hash = `file=${api.file}${api.hasShift ? `&shift=${api.shift.join()}` : ""}${tab === "list" ? "" : `&tab=${tab}`}`;
		void load();
	});
	await load();
	for (;;) {
		await new Promise(resolve => setTimeout(resolve, info?.complete ? 5000 : 1000));
		await watchFile();
	}
}

/* For measurements by scripts. */
Object.assign(window, { uftView: { graph, list, reports, plot, diff } });
start().catch((e: unknown) => showNotice(e instanceof Error ? e.message : String(e)));
