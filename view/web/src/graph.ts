/* SPDX-License-Identifier: MIT */
/*
 * graph.ts - the graph: rows of CPUs and tasks over time
 *
 * The latest answer is drawn at once, wherever the view has moved. A better answer is requested, with a quarter of a view on each side, and drawn
 * when it arrives. Spans are pixels of one picture (at most two for each pixel and lane), labels are text above it.
 *
 * In a very deep row the lanes from `fullLanes` on are thin, so that all lanes stay visible and the rows below stay near. A click on the names
 * beside them makes them as high as the others.
 */
import { Api, Drop, Info, Task, Tiles, TileRow } from "./api";
import { Values } from "./values";
import { clamp, colour, css, fit, guestState, ink, mix, moment, roundStep, stateColour, textNumber, time, count } from "./format";

export const rowCpu = 0x80000000;
const gutter = 190, axis = 26, laneHeight = 16, rowGap = 5, stripHeight = 4, shortHeight = 16, valuesHeight = 40, laneStates = 0xfffd, laneEvents = 0xfffe, laneLost = 0xffff, placeSize = 1 << 20, valuesKey = -(2 ** 40), valuesGroup = -2, flagWidth = 14, flagHeight = 12, scaleLine = 22;	/* texts of the scale are below flags */

const labelLeast = 34;	/* the least pixels of a span with a name */

/* In a deep row: the number of lanes of full height; how many more make a row deep; the room for the other lanes, of 1 to 4 pixels each. */
const fullLanes = 16, fewDeeper = 8, thinRoom = 160, thinMost = 4;

const lostColour = 0xff2a2ae0, eventColour = (isDark: boolean): number => isDark ? 0xff5bd0ff : 0xff0b6be0;

export interface Row { key: number; label: string; title: string; lanes: number; isOpen: boolean; isToggled?: boolean; isDeep?: boolean; isHidden: boolean; isCpu: boolean; isProcess: boolean; isNested?: boolean; pid: number; file: number; group: number; first: number; last: number; shows: number; values?: Values }	/* isDeep: its deep lanes are as high as the others; shows: of which row it has the calls; of a process its first thread */
export interface Hit { row: Row; lane: number; start: number; len: number; name: string; calls: number; kind: "call" | "state" | "event" | "lost" | "drop" | "value" }
export interface Hooks { onView(): void; onPick(hit: Hit | null, t: number): void; onMark(): void; onHover(hit: Hit | null, t: number, x: number, y: number): void; onName(row: Row | null, x: number, y: number): void; onMenu(hit: Hit | null, row: Row | null, t: number, x: number, y: number): void; onError(text: string): void; onMatches(n: number): void; onPicture(): void; onProgress(part: number): void }

interface Label { x: number; w: number; y: number; text: string; ink: string }
interface Placed { row: Row; y: number; height: number }

export class Graph {
	from = 0;
	to = 1;
	a: number | null = null;
	b: number | null = null;
	filter = "";
	find = "";
	rows: Row[] = [];
	scroll = 0;
	cursor = 0;		/* time under the pointer */
	picked: Hit | null = null;
	isDark = false;
	drawn = 0;		/* pictures, for measurements */
	drawTime = 0;
	pending = 0;		/* pictures that are due or requested */
	private info: Info | null = null;
	private drops: { drop: Drop; t: number; group: number }[] = [];
	private labels = new Map<number, string>();	/* of rows of tasks, by key */
	private tile = new Map<number, { tiles: Tiles; row: TileRow }>();
	private hasGuest = false;	/* a thread ran a guest */
	private names: Record<string, string> = {};
	private shades = new Uint32Array(1024);	/* by the number of a name: its colour; 0: unknown */
	private wanted = "";
	private matching = new Map<number, number[]>();	/* by row: the lanes in which the filter matches */
	private matchingAsked = new Set<number>();
	private matchingOf = "";
	private abort: AbortController | null = null;
	private isDue = false;
	private placed: Placed[] | null = null;	/* the places of rows, until something changes */
	private drag: { x: number; y: number; from: number; to: number; scroll: number; isRange: boolean; moved: boolean } | null = null;
	private image: ImageData | null = null;

	constructor(private canvas: HTMLCanvasElement, private bar: HTMLElement, private api: Api, private hooks: Hooks) {
		canvas.addEventListener("wheel", e => this.onWheel(e), { passive: false });
		canvas.addEventListener("pointerdown", e => this.onDown(e));
		canvas.addEventListener("pointermove", e => this.onMove(e));
		canvas.addEventListener("pointerup", e => this.onUp(e));
		canvas.addEventListener("pointerleave", () => hooks.onHover(null, 0, 0, 0));
		canvas.addEventListener("contextmenu", e => {
			e.preventDefault();
			const p = this.rowAt(e.offsetY);
			hooks.onMenu(this.hit(e.offsetX, e.offsetY), p?.row ?? null, clamp(this.t(e.offsetX), 0, this.duration), e.clientX, e.clientY);
		});
		canvas.addEventListener("dblclick", e => this.onDouble(e));
		bar.addEventListener("scroll", () => { this.scroll = bar.scrollTop; this.due(); });
		new ResizeObserver(() => this.due()).observe(canvas);
	}

	load(info: Info): void {
		const one = info.tasks.length <= 12;
		this.info = info;
		this.tile.clear();
		this.wanted = this.matchingOf = "";
		this.matching.clear();
		this.matchingAsked.clear();
		this.hasGuest = false;
		this.rows = [];
		const plain = { lanes: 1, isOpen: false, isHidden: false, isCpu: false, isProcess: false, pid: 0, group: -1, first: 0, last: info.duration, shows: 0 };
		const short = (file: number): string => info.sources.length > 1 ? `${file + 1}: ` : "";
		info.sources.forEach((source, file) => {
			for (let i = 0; i < source.ncpus; i++)
				this.rows.push({ ...plain, key: rowCpu + file * placeSize + i, label: `${short(file)}CPU ${i}`, title: `which task CPU ${i} had, as far as events of ${source.path} tell`, isCpu: true, file, shows: rowCpu + file * placeSize + i });
		});
		const groupOf = (file: number, pid: number): number => pid + file * 2 ** 23;
		/* in the order of their first events: processes, and the threads of each */
		const tasks = [...info.tasks].sort((x, y) => x.first - y.first || x.file - y.file || x.tid - y.tid);
		const processes = new Map<number, Task[]>();
		for (const t of tasks)
			processes.set(groupOf(t.file, t.pid), [...processes.get(groupOf(t.file, t.pid)) ?? [], t]);
		const few = processes.size <= 12, nested = new Set(processes.size > 1 ? [...processes].filter(([, threads]) => threads.length > 1).map(([group]) => group) : []);
		const opened = new Set([...processes.values()].flat().slice(0, one ? Infinity : few ? 4 : 0));
		for (const [group, threads] of processes) {
			if (nested.has(group))
				this.rows.push({ ...plain, ...this.processRow(group, threads, few, short) });
			for (const t of threads)
				this.rows.push({ ...plain, key: t.row, label: `${nested.has(group) ? "" : short(t.file)}${t.comm}-${t.tid}`, title: `${t.comm}, thread ${t.tid} of process ${t.pid}: ${count(t.calls)} calls`, lanes: Math.max(1, t.lanes), isOpen: opened.has(t), isNested: nested.has(group), pid: t.pid, file: t.file, group, first: t.first, last: t.last, shows: t.row });
		}
		this.labels = new Map(this.rows.filter(r => !r.isCpu && !r.isProcess).map(r => [r.key, r.label]));
		this.drops = info.sources.flatMap((source, file) => source.drops.map(drop => ({ drop, t: drop.t + source.offset, group: groupOf(file, drop.pid) })));
	}

	/** Adds a row of values below those of the CPUs, unless it exists. */
	addValues(spec: string): void {
		if (this.rows.some(r => r.values?.spec === spec))
			return;
		const values = new Values(spec, this.api, () => this.due()), behind = this.rows.filter(r => r.isCpu || r.values).length;
		this.rows.splice(behind, 0, { key: valuesKey - textNumber(spec), label: values.label, title: `${values.label} over time`, lanes: 1, isOpen: true, isHidden: false, isCpu: false, isProcess: false, pid: 0, file: 0, group: valuesGroup, first: 0, last: this.duration, shows: -1, values });
		this.due();
	}

	removeValues(row: Row): void {
		this.rows = this.rows.filter(r => r !== row);
		this.hooks.onView();
		this.due();
	}

	/* The row above the threads of a process that has several; it shows or hides them. */
	private processRow(group: number, threads: Task[], isOpen: boolean, short: (file: number) => string): Partial<Row> & { key: number; label: string; title: string; file: number; shows: number } {
		const calls = threads.reduce((n, t) => n + t.calls, 0), pid = threads[0]?.pid ?? 0, leader = threads.find(t => t.tid === pid) ?? threads[0] as Task;
		return { key: -group, label: `${short(leader.file)}${leader.comm} ${pid}`, title: `process ${pid}: ${count(threads.length)} threads, ${count(calls)} calls`, isOpen, isProcess: true, pid, file: leader.file, group, shows: leader.row, first: Math.min(...threads.map(t => t.first)), last: Math.max(...threads.map(t => t.last)) };
	}

	/* The number of rows that move with a row: a process moves its threads. */
	private block(at: number): number {
		const row = this.rows[at] as Row;
		let n = 1;
		while (row.isProcess && this.rows[at + n]?.group === row.group)
			n++;
		return n;
	}

	private isSibling(a: Row, b: Row): boolean {
		return a.values || b.values ? !!a.values === !!b.values : a.isCpu || b.isCpu ? a.isCpu === b.isCpu : a.isNested || b.isNested ? !!a.isNested && !!b.isNested && a.group === b.group : true;
	}

	/** Moves a row up or down, or (by Infinity) to the end, among rows of its kind: CPUs, values, processes, threads of one process. */
	moveRow(row: Row, by: number): void {
		for (let left = Math.abs(by); left > 0; left--) {
			const at = this.rows.indexOf(row), size = this.block(at);
			let to = by < 0 ? at - 1 : at + size;
			while (by < 0 && to > 0 && !this.isSibling(row, this.rows[to] as Row) && !row.isNested && (this.rows[to] as Row).isNested)
				to--;
			const other = this.rows[to];
			if (!other || !this.isSibling(row, other))
				break;
			const moved = this.rows.splice(at, size);
			this.rows.splice(by < 0 ? to : at + this.block(at), 0, ...moved);
		}
		this.hooks.onView();
		this.due();
	}

	/** Restores a saved order of rows, by key. */
	setOrder(keys: number[]): void {
		const place = new Map(keys.map((k, i) => [k, i]));
		this.rows.sort((x, y) => (place.get(x.key) ?? Infinity) - (place.get(y.key) ?? Infinity) || 0);
	}

	get width(): number { return Math.max(50, this.canvas.clientWidth - gutter); }
	get duration(): number { return Math.max(1, this.info?.duration ?? 1); }

	show(from: number, to: number): void {
		const least = 20, most = this.duration * 1.1;
		let w = clamp(to - from, least, most), middle = (from + to) / 2;
		middle = clamp(middle, 0, this.duration);
		this.from = middle - w / 2;
		this.to = middle + w / 2;
		this.hooks.onView();
		this.due();
	}

	whole(): void { this.show(-this.duration * 0.01, this.duration * 1.01); }

	zoom(factor: number, at = (this.from + this.to) / 2): void {
		const w = this.to - this.from, share = (at - this.from) / w;
		const v = clamp(w * factor, 20, this.duration * 1.1);
		this.show(at - share * v, at - share * v + v);
	}

	pan(share: number): void {
		const d = (this.to - this.from) * share;
		this.show(this.from + d, this.to + d);
	}

	scrollBy(px: number): void { this.bar.scrollTop += px; }

	/* Moves the view to a time, unless it is visible. */
	reveal(t: number): void {
		const w = this.to - this.from;
		if (t < this.from + w * 0.02 || t > this.to - w * 0.02)
			this.show(t - w / 2, t + w / 2);
		this.due();
	}

	/** Moves the view to a lane of a row, unless the row is hidden. */
	revealRow(row: Row, lane: number): void {
		const process = row.isNested ? this.rows.find(r => r.isProcess && r.group === row.group) : undefined;
		if (process)
			process.isOpen = true;
		this.placed = null;
		const p = this.place().find(q => q.row === row), top = p ? p.y + this.laneTop(row, Math.max(0, this.slot(row, lane))) : 0, foot = this.canvas.clientHeight - laneHeight - rowGap;
		if (p && (top < axis || top > foot))
			this.scrollBy(top - (axis + foot) / 2);
		this.due();
	}

	due(): void {
		this.placed = null;
		if (this.isDue)
			return;
		this.isDue = true;
		this.pending++;
		requestAnimationFrame(() => {
			this.isDue = false;
			if (this.info) {	/* the facts of the recording must be there first */
				this.draw();
				void this.ask();
			}
			this.pending--;
		});
	}

	x(t: number): number { return gutter + (t - this.from) / (this.to - this.from) * this.width; }
	t(x: number): number { return this.from + (x - gutter) / this.width * (this.to - this.from); }

	/* ---- Places of rows ---- */

	/* The number of lanes of an open row that have a place: with a filter, those with matches. */
	private lanes(r: Row): number { return Math.max(1, this.matching.get(r.shows)?.length ?? Math.min(r.lanes, 512)); }

	/* The place of a lane from the top; -1: none. A closed row has one place, for its first lane; with a filter, for all lanes with matches, the deepest in front. */
	private slot(r: Row, lane: number): number {
		const matching = r.isCpu ? undefined : this.matching.get(r.shows);
		if (!r.isOpen || r.isProcess)
			return matching ? matching.includes(lane) ? 0 : -1 : lane ? -1 : 0;
		return matching ? matching.indexOf(lane) : Math.min(lane, 511);
	}

	/* The lane at a place, or the nearest one. */
	private laneOf(r: Row, slot: number): number {
		const matching = this.matching.get(r.shows);
		return matching ? matching[clamp(slot, 0, matching.length - 1)] ?? 0 : slot;
	}

	/** The number of lanes that are drawn thin, or would be if they were not made high. */
	deeper(r: Row): number { const n = this.lanes(r); return n > fullLanes + fewDeeper ? n - fullLanes : 0; }

	/** The height of the row's deep lanes. */
	deepHeight(r: Row): number { const n = this.deeper(r); return !n || r.isDeep ? laneHeight : clamp(Math.floor(thinRoom / n), 1, thinMost); }

	/** The top of the lane at a place, from the top of the row's first lane; the last lane ends at the top of the place behind it. */
	laneTop(r: Row, slot: number): number { return slot <= fullLanes ? slot * laneHeight : fullLanes * laneHeight + (Math.min(slot, 512) - fullLanes) * this.deepHeight(r); }

	/* The place of the lane at @y, with its fraction. */
	private slotAt(r: Row, y: number): number { return y <= fullLanes * laneHeight ? y / laneHeight : fullLanes + (y - fullLanes * laneHeight) / this.deepHeight(r); }

	private height(r: Row): number { return r.values ? valuesHeight + rowGap : (r.isOpen ? this.laneTop(r, r.isProcess ? 1 : this.lanes(r)) : shortHeight) + rowGap + (!(r.isOpen && r.isProcess) && this.hasStates(r) ? stripHeight : 0); }

	private hasStates(r: Row): boolean { return !r.isCpu && (this.tile.get(r.shows)?.row.lanes.some(([lane]) => lane === laneStates) ?? false); }

	/* Computed once for each picture, because there may be ten thousands of rows. */
	private place(): Placed[] {
		if (this.placed)
			return this.placed;
		const out: Placed[] = this.placed = [];
		const closed = new Set(this.rows.filter(r => r.isProcess && !r.isOpen).map(r => r.group));
		let y = axis - this.scroll;
		for (const row of this.rows) {
			if (row.isHidden || (!row.isProcess && closed.has(row.group)))
				continue;
			const height = this.height(row);
			out.push({ row, y, height });
			y += height;
		}
		const inner = this.bar.firstElementChild as HTMLElement, all = `${y + this.scroll + 40}px`;
		if (inner.style.height !== all)
			inner.style.height = all;
		return out;
	}

	/* The row of a process has no calls of its own above its threads; closed, it shows the calls of its first thread. */
	private hasCalls(r: Row): boolean { return !r.values && (!r.isProcess || !r.isOpen); }

	private rowAt(y: number): Placed | undefined { return this.visible().find(q => y >= Math.max(axis, q.y) && y < q.y + q.height); }

	private visible(): Placed[] {
		const h = this.canvas.clientHeight;
		const all = this.place();
		let first = 0, behind = all.length;
		while (first < behind) {	/* rows are sorted by their place */
			const middle = (first + behind) >> 1, p = all[middle] as Placed;
			if (p.y + p.height > axis)
				behind = middle;
			else
				first = middle + 1;
		}
		while (behind < all.length && (all[behind] as Placed).y < h)
			behind++;
		return all.slice(first, behind);
	}

	/* ---- Requests ---- */

	/* The rows and lanes in view, and some above and below. */
	private lanesInView(): string {
		const h = this.canvas.clientHeight, lanes = new Map<number, [number, number]>();
		for (const p of this.visible()) {
			const step = 8, lane = (y: number): number => this.laneOf(p.row, Math.floor(this.slotAt(p.row, y - p.y - rowGap / 2)));
			if (!this.hasCalls(p.row))
				continue;
			const isOpen = p.row.isOpen && !p.row.isProcess, before = lanes.get(p.row.shows) ?? [511, 0];
			const deepest = this.matching.get(p.row.shows)?.at(-1) ?? 0;	/* of a closed row */
			const first = isOpen ? clamp(Math.floor(lane(axis) / step) * step, 0, 511) : 0, last = isOpen ? clamp(Math.ceil((lane(h) + 1) / step) * step, 0, 511) : deepest;
			lanes.set(p.row.shows, [Math.min(before[0], first), Math.max(before[1], last)]);
		}
		return [...lanes].slice(0, 1000).map(([row, [first, last]]) => row >= rowCpu ? `c${row - rowCpu}` : `${row}:${first}-${last}`).join();
	}

	/** Requests the picture of the view, unless it was requested already. Returns when it is drawn. */
	async ask(): Promise<void> {
		if (!this.info)
			return;
		void this.askMatching();
		const w = this.to - this.from, rows = this.lanesInView();
		for (const p of this.visible())
			p.row.values?.want(Math.max(0, this.from), Math.min(this.to, this.duration));
		const from = Math.max(0, Math.floor(this.from - w / 4)), to = Math.ceil(this.to + w / 4);	/* a margin for moves until a new answer arrives */
		const wanted = `${this.filter}|${this.api.file}|${this.api.shift}|${from}|${to}|${this.width}|${rows}`;
		if (wanted === this.wanted || to <= from || !rows)
			return;
		this.wanted = wanted;
		this.abort?.abort();
		const abort = this.abort = new AbortController();
		this.pending++;
		try {
			const width = Math.min(16384, Math.max(1, Math.ceil((to - from) / w * this.width * Math.min(2, devicePixelRatio))));
			const tiles = await this.api.ask<Tiles>("tiles", { filter: this.filter, from, to, width, rows, packed: 1 }, abort.signal, p => this.hooks.onProgress(p));
			if (abort !== this.abort)
				return;
			Object.assign(this.names, tiles.names);
			this.hasGuest ||= Object.values(tiles.names).includes(guestState);
			for (const row of tiles.rows)
				this.tile.set(row.row, { tiles, row });
			this.hooks.onMatches(tiles.matches);
			this.hooks.onPicture();
			if (tiles.coarse)		/* the server is making a finer index */
				setTimeout(() => { if (abort === this.abort) { this.wanted = ""; this.due(); } }, 150);
			this.placed = null;	/* rows with a strip are higher */
			this.draw();
			if (!performance.getEntriesByName("picture").length)
				performance.mark("picture");	/* for bench/view.mjs */
		} catch (e) {
			if (abort === this.abort && !(e instanceof DOMException && e.name === "AbortError"))
				this.hooks.onError(e instanceof Error ? e.message : String(e));
		} finally {
			this.pending--;
		}
	}

	/*
	 * Asks, once for each row in view, in which lanes the filter matches anywhere in the recording. Only these lanes get room, so that all matches are
	 * near. Until the answer comes, and if the filter is wrong, rows look as without it.
	 */
	private async askMatching(): Promise<void> {
		const of = this.filter && `${this.filter}|${this.api.file}|${this.api.shift}`;
		if (of !== this.matchingOf) {
			this.matchingOf = of;
			this.matching.clear();
			this.matchingAsked.clear();
			this.placed = null;
		}
		const rows = !of ? [] : [...new Set(this.visible().filter(p => !p.row.isCpu && this.hasCalls(p.row)).map(p => p.row.shows))].filter(row => !this.matchingAsked.has(row)).slice(0, 1000);
		if (!rows.length)
			return;
		for (const row of rows)
			this.matchingAsked.add(row);
		this.pending++;
		try {
			const tiles = await this.api.ask<Tiles>("tiles", { filter: this.filter, from: 0, to: this.duration, width: 1, rows: rows.map(row => `${row}:0-511`).join(), packed: 1 });
			if (of !== this.matchingOf)
				return;
			if (tiles.coarse)
				return void setTimeout(() => { for (const row of rows) this.matchingAsked.delete(row); this.due(); }, 150);
			const found = new Map(tiles.rows.map(({ row, lanes }) => [row, lanes.flatMap(([lane, v]) => lane < 512 && v.length ? [lane] : [])]));
			for (const row of rows)
				this.matching.set(row, (found.get(row) ?? []).sort((x, y) => x - y));
			this.due();
		} catch {	/* ask() reports the error */
		} finally {
			this.pending--;
		}
	}

	/* ---- Drawing ---- */

	private nameColour(n: number): number {
		if (n >= this.shades.length) {
			const more = new Uint32Array(2 * n);
			more.set(this.shades);
			this.shades = more;
		}
		return this.shades[n] ||= colour(textNumber(this.names[n] ?? ""), this.isDark);
	}

	/** The legend: [meaning, colour] of each kind of span in view that has no name in the picture. */
	get legend(): [string, string][] {
		const lanes = new Set([...this.tile.values()].flatMap(({ row }) => row.lanes.flatMap(([lane, v]) => v.length ? [lane] : [])));
		const states = lanes.has(laneStates) ? ["runs", ...this.hasGuest ? [guestState] : [], "waits for a CPU", "blocked"].map((s): [string, string] => [s, css(stateColour(s, this.isDark))]) : [];
		return [...states, ...lanes.has(laneEvents) ? [["event", css(eventColour(this.isDark))] as [string, string]] : [], ...lanes.has(laneLost) ? [["lost", css(lostColour)] as [string, string]] : []];
	}

	setTheme(isDark: boolean): void {
		this.isDark = isDark;
		this.shades.fill(0);
		this.hooks.onPicture();
		this.due();
	}

	draw(): void {
		const begun = performance.now(), ratio = devicePixelRatio, c = this.canvas;
		const w = Math.max(1, Math.round(c.clientWidth * ratio)), h = Math.max(1, Math.round(c.clientHeight * ratio));
		if (c.width !== w || c.height !== h) {
			c.width = w;
			c.height = h;
		}
		const g = c.getContext("2d");
		if (!g)
			return;
		if (!this.image || this.image.width !== w || this.image.height !== h)
			this.image = g.createImageData(w, h);
		const pixels = new Uint32Array(this.image.data.buffer), ground = this.isDark ? 0xff1c1714 : 0xffffffff;
		const band = this.isDark ? 0xff221c19 : 0xfffaf8f7;
		pixels.fill(ground >>> 0);
		const labels: Label[] = [], visible = this.visible();
		let odd = false;
		for (const p of visible) {
			odd = !odd;
			if (odd)
				pixels.fill(band >>> 0, Math.max(0, Math.round(p.y * ratio)) * w, Math.min(h, Math.round((p.y + p.height) * ratio)) * w);
			if (!p.row.values)
				this.drawLife(pixels, w, h, ratio, p);
			this.drawRow(pixels, w, h, ratio, p, labels, (odd ? band : ground) >>> 0);
		}
		g.putImageData(this.image, 0, 0);
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.drawValues(g, visible);
		this.drawText(g, visible, labels);
		this.drawDrops(g, visible);
		this.drawMarks(g);
		this.drawTime = performance.now() - begun;
		this.drawn++;
	}

	private drawValues(g: CanvasRenderingContext2D, visible: Placed[]): void {
		const dim = getComputedStyle(document.documentElement).getPropertyValue("--dim");
		g.font = '11px "DejaVu Sans", system-ui, sans-serif';
		g.save();
		g.beginPath();
		g.rect(gutter, axis, Math.max(60, this.x(this.duration) - gutter), 1e5);
		g.clip();
		for (const p of visible)
			p.row.values?.draw(g, this.from, this.to, gutter, gutter + this.width, p.y + rowGap / 2, valuesHeight, css(colour(textNumber(p.row.values.name), this.isDark)), dim);
		g.restore();
	}

	/* Draws a line from the first event of a task to its last: the recording has no others. */
	private drawLife(pixels: Uint32Array, w: number, h: number, ratio: number, p: Placed): void {
		const y = Math.round((p.y + p.height - 1.5) * ratio);
		if (y < axis * ratio || y >= h)
			return;
		const x0 = clamp(Math.round(this.x(p.row.first) * ratio), Math.round(gutter * ratio), w), x1 = clamp(Math.round(this.x(p.row.last) * ratio), x0, w);
		pixels.fill(this.isDark ? 0xff8a7f76 : 0xffa89f98, y * w + x0, y * w + x1);
	}

	private drawRow(pixels: Uint32Array, w: number, h: number, ratio: number, p: Placed, labels: Label[], ground: number): void {
		const tile = this.tile.get(p.row.shows);
		if (!tile || !this.hasCalls(p.row))
			return;
		/* With a filter a closed row has many lanes in one place: for each column, the number of the label that has its colour, or 0. */
		const owners = !p.row.isOpen && (this.matching.get(p.row.shows)?.length ?? 0) > 1 ? new Uint32Array(w) : null, own = labels.length;
		const left = Math.round(gutter * ratio), scale = this.width * ratio / (this.to - this.from), find = this.find.toLowerCase();
		for (const [lane, v] of tile.row.lanes) {
			const isLost = lane === laneLost, isState = lane === laneStates, isPoint = lane === laneEvents || isLost;
			const slot = isPoint || isState ? 0 : this.slot(p.row, lane);
			if (slot < 0)
				continue;
			const room = slot < fullLanes ? laneHeight : this.deepHeight(p.row), high = Math.max(1, Math.round((room > 2 ? room - 1 : room) * ratio));	/* one pixel between lanes, if there is room */
			const top = Math.round((isState ? p.y + p.height - 5 : p.y + rowGap / 2 + (isPoint ? 0 : this.laneTop(p.row, slot))) * ratio);
			const tall = isState ? Math.max(1, Math.round(4 * ratio)) : isPoint ? Math.max(1, Math.round((isLost ? p.height - rowGap : 6) * ratio)) : high;
			const y0 = Math.max(Math.round(axis * ratio), top), y1 = Math.min(h, top + tall);
			if (y1 <= y0)
				continue;
			const line = y0 * w;
			const shift = tile.tiles.from - this.from, isCall = !p.row.isCpu && !isPoint && !isState, isDimmed = !!find && !p.row.isCpu && !isState;
			let min = w, max = 0, edge = left - 1;
			for (let i = 0; i + 4 < v.length; i += 5) {
				const start = shift + (v[i] as number);
				let x0 = Math.round(start * scale) + left, x1 = Math.round((start + (v[i + 1] as number)) * scale) + left;
				if (x1 < left || x0 >= w)
					continue;
				const name = v[i + 2] as number, calls = v[i + 3] as number;
				if (isPoint)
					x1 = x0 + Math.max(2, Math.round(2 * ratio));
				x0 = Math.max(left, x0);
				if (x0 <= edge && x1 > edge + 1)
					x0 = edge + 1;
				x1 = Math.min(w, Math.max(x1, x0 + 1));
				let c = isCall ? this.nameColour(name) : isLost ? lostColour : isPoint ? eventColour(this.isDark) : isState ? stateColour(this.names[name] ?? "", this.isDark) : colour(name * 7 + 1, this.isDark);
				if (calls > 1 && !isPoint)
					c = mix(ground, c, 0.5 + 0.5 * (v[i + 4] as number) / 255);
				if (isDimmed && !(this.names[name] ?? "").toLowerCase().includes(find))
					c = mix(ground, c, 0.18);
				for (let at = line + x0; at < line + x1; at++)	/* most are short */
					pixels[at] = c;
				/* a line between neighbours */
				if (x1 - x0 > 3 && x1 < w)
					pixels[line + x1 - 1] = ground;
				edge = x1 - 1;
				min = x0 < min ? x0 : min;
				max = x1 > max ? x1 : max;
				const isNamed = x1 - x0 > labelLeast * ratio && !isPoint && !isState && room === laneHeight;
				if (!isPoint && !isState)
					owners?.fill(isNamed ? labels.length + 1 : 0, x0, x1);
				if (isNamed)
					labels.push({ x: x0 / ratio, w: (x1 - x0) / ratio, y: top / ratio + 11.5, text: this.label(p.row, name, calls), ink: ink(c) });
			}
			if (max > min)
				for (let y = y0 + 1; y < y1; y++)
					pixels.copyWithin(y * w + min, line + min, line + max);
		}
		if (owners)
			labels.push(...labels.splice(own).flatMap((l, i) => this.uncovered(l, owners, own + i + 1, ratio)));
	}

	/* The first part of a label that no other covers, if it is long enough. */
	private uncovered(l: Label, owners: Uint32Array, owner: number, ratio: number): Label[] {
		const end = Math.round((l.x + l.w) * ratio);
		for (let x0 = Math.round(l.x * ratio), x1; x0 < end; x0 = x1 + 1) {
			for (x1 = x0; x1 < end && owners[x1] === owner; x1++)
				;
			if (x1 - x0 > labelLeast * ratio)
				return [{ ...l, x: x0 / ratio, w: (x1 - x0) / ratio }];
		}
		return [];
	}

	private label(row: Row, name: number, calls: number): string {
		if (row.isCpu)
			return this.labels.get(row.file * placeSize + name) ?? "";
		return (this.names[name] ?? "") + (calls > 1 ? ` … ×${calls}` : "");
	}

	private drawText(g: CanvasRenderingContext2D, visible: Placed[], labels: Label[]): void {
		const style = getComputedStyle(document.documentElement), text = style.getPropertyValue("--text"), dim = style.getPropertyValue("--dim");
		const h = this.canvas.clientHeight, w = this.canvas.clientWidth;
		g.font = '11px "DejaVu Sans", system-ui, sans-serif';
		g.save();
		g.beginPath();
		g.rect(gutter, axis, w, h);
		g.clip();
		for (const l of labels.slice(0, 3000)) {
			g.fillStyle = l.ink;
			g.fillText(fit(g, l.text, l.w - 6), l.x + 3, l.y);
		}
		g.restore();
		g.fillStyle = style.getPropertyValue("--panel");
		g.fillRect(0, 0, gutter, h);
		g.fillRect(0, 0, w, axis);
		g.strokeStyle = style.getPropertyValue("--line");
		for (const p of visible) {
			const y = Math.max(p.y, axis - 4);
			g.fillStyle = text;
			g.save();
			g.beginPath();
			g.rect(0, Math.max(axis, p.y), gutter - 4, p.height);
			g.clip();
			g.fillText(fit(g, (p.row.isCpu || p.row.values ? "   " : p.row.isOpen ? "▾ " : "▸ ") + p.row.label, gutter - (p.row.isNested ? 24 : 12)), p.row.isNested ? 18 : 6, Math.max(y, p.y) + 14);
			if (p.row.isOpen && this.deeper(p.row)) {
				g.fillStyle = dim;
				g.fillText(`${p.row.isDeep ? "▾" : "▸"} ${this.deeper(p.row)} deeper`, p.row.isNested ? 18 : 6, Math.max(y + 14, p.y + rowGap / 2 + this.laneTop(p.row, fullLanes)) + 12);
			}
			g.restore();
			g.beginPath();
			g.moveTo(0, p.y + p.height - 0.5);
			g.lineTo(w, p.y + p.height - 0.5);
			g.globalAlpha = 0.5;
			if (p.y + p.height > axis)
				g.stroke();
			g.globalAlpha = 1;
		}
		const step = roundStep((this.to - this.from) / Math.max(2, this.width / 110));
		g.fillStyle = style.getPropertyValue("--panel");
		g.fillRect(0, 0, w, axis);
		g.fillStyle = dim;
		for (let t = Math.ceil(Math.max(0, this.from) / step) * step; t < this.to && t <= this.duration; t += step) {
			const x = Math.round(this.x(t)) + 0.5;
			g.globalAlpha = 0.18;
			g.beginPath();
			g.moveTo(x, axis - 6);
			g.lineTo(x, h);
			g.stroke();
			g.globalAlpha = 1;
			const label = moment(t, step);
			if (x + 4 + g.measureText(label).width <= w)
				g.fillText(label, x + 4, scaleLine);
		}
		g.fillText(`${time(Math.min(this.to, this.duration) - Math.max(0, this.from))} in view`, 6, scaleLine);
	}

	/* Marks the time from which a function was not traced, through the rows of its process. */
	private drawDrops(g: CanvasRenderingContext2D, visible: Placed[]): void {
		g.strokeStyle = g.fillStyle = this.isDark ? "#ffb454" : "#b35900";
		g.setLineDash([3, 3]);
		for (const d of this.drops) {
			const x = Math.round(this.x(d.t)) + 0.5;
			if (x < gutter)
				continue;
			for (const p of visible)
				if (p.row.group === d.group && !p.row.isCpu) {
					g.beginPath();
					g.moveTo(x, Math.max(axis, p.y));
					g.lineTo(x, Math.max(axis, p.y + p.height));
					g.stroke();
				}
			g.beginPath();
			g.moveTo(x - 4, axis - 7);
			g.lineTo(x + 4, axis - 7);
			g.lineTo(x, axis);
			g.fill();
		}
		g.setLineDash([]);
	}

	private dropAt(x: number, row: Row): Hit | null {
		const d = this.drops.find(e => e.group === row.group && Math.abs(this.x(e.t) - x) < 4);
		return d ? { row, lane: 0, start: d.t, len: 0, calls: 1, kind: "drop", name: `${d.drop.name} is not traced from here on: ${d.drop.why}, ${count(d.drop.calls_per_s)} calls/s` } : null;
	}

	/** The markers: [time, name, begin of its flag beside its line]. Flags that would cover each other are on either side. */
	flags(): [number, string, number][] {
		const { a, b } = this, areNear = a !== null && b !== null && Math.abs(this.x(a) - this.x(b)) < flagWidth;
		const side = (isFirst: boolean): number => !areNear ? -flagWidth / 2 : isFirst ? 1 - flagWidth : 0;
		return [...a === null ? [] : [[a, "A", side(b === null || a <= b)] as [number, string, number]], ...b === null ? [] : [[b, "B", side(a !== null && b < a)] as [number, string, number]]];
	}

	private drawMarks(g: CanvasRenderingContext2D): void {
		const h = this.canvas.clientHeight, mark = getComputedStyle(document.documentElement).getPropertyValue("--mark");
		if (this.a !== null && this.b !== null) {
			const x0 = clamp(this.x(Math.min(this.a, this.b)), gutter, 1e5), x1 = clamp(this.x(Math.max(this.a, this.b)), gutter, 1e5);
			g.globalAlpha = 0.12;
			g.fillStyle = mark;
			g.fillRect(x0, axis, x1 - x0, h);
			g.globalAlpha = 1;
		}
		for (const [t, name, side] of this.flags()) {
			const x = Math.round(this.x(t));
			if (x < gutter)
				continue;
			g.fillStyle = mark;
			g.fillRect(x, 0, 1, h);
			g.fillRect(x + side, 0, flagWidth, flagHeight);
			g.fillStyle = this.isDark ? "#111" : "#fff";
			g.fillText(name, x + side + 3, 10);
		}
		const p = this.picked, at = p && this.place().find(q => q.row === p.row);
		const slot = p && at ? this.slot(at.row, p.lane) : -1;
		if (p && at && slot >= 0) {
			const x = Math.max(gutter, this.x(p.start));
			g.strokeStyle = mark;
			g.lineWidth = 2;
			g.save();
			g.beginPath();
			g.rect(gutter, axis, 1e5, h);
			g.clip();
			g.strokeRect(x, at.y + rowGap / 2 + this.laneTop(p.row, slot), Math.max(2, this.x(p.start + p.len) - x), Math.max(2, (slot < fullLanes ? laneHeight : this.deepHeight(p.row)) - 1));
			g.restore();
			g.lineWidth = 1;
		}
	}

	/* ---- Hits ---- */

	hit(x: number, y: number): Hit | null {
		const p = this.rowAt(y), drop = p && this.dropAt(x, p.row);
		if (!p || x < gutter)
			return null;
		if (drop)
			return drop;
		if (p.row.values)
			return { row: p.row, lane: 0, start: this.t(x), len: 0, calls: 1, kind: "value", name: p.row.values.at(this.t(x)) };
		const slot = p.row.isOpen ? Math.floor(this.slotAt(p.row, y - p.y - rowGap / 2)) : 0, tile = this.hasCalls(p.row) ? this.tile.get(p.row.shows) : undefined, t = this.t(x);
		const slack = (this.to - this.from) / this.width * 2;
		let best: Hit | null = null, distance = Infinity;
		for (const [l, v] of tile?.row.lanes ?? []) {
			const isPoint = l >= laneEvents, isState = l === laneStates;
			if (isState ? y < p.y + p.height - 6 : !isPoint && this.slot(p.row, l) !== slot || (l === laneEvents && y - p.y > 9))
				continue;
			for (let i = 0; i + 4 < v.length; i += 5) {
				const start = (tile as { tiles: Tiles }).tiles.from + (v[i] as number), len = v[i + 1] as number;
				const d = t < start ? start - t : t > start + len ? t - start - len : 0;
				if (d <= slack && (d < distance || isPoint || (d === distance && l > (best?.lane ?? 0)))) {
					distance = d;
					const n = v[i + 2] as number, calls = v[i + 3] as number;
					best = { row: p.row, lane: isPoint || isState ? 0 : l, start, len, calls, kind: l === laneLost ? "lost" : isPoint ? "event" : isState ? "state" : "call", name: l === laneLost ? `${count(calls)} records lost here` : p.row.isCpu ? this.label(p.row, n, 1) : this.names[n] ?? "" };
				}
			}
		}
		return best;
	}

	private onWheel(e: WheelEvent): void {
		e.preventDefault();
		const d = e.deltaMode === 1 ? e.deltaY * 30 : e.deltaY;
		if (e.offsetX < gutter)
			this.scrollBy(d);
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(d))
			this.pan((Math.abs(e.deltaX) > Math.abs(d) ? e.deltaX : d) / 1500);
		else
			this.zoom(1.0015 ** d, this.t(e.offsetX));
	}

	private onDown(e: PointerEvent): void {
		if (e.button !== 0)
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.canvas.focus();
		this.drag = { x: e.offsetX, y: e.offsetY, from: this.from, to: this.to, scroll: this.bar.scrollTop, isRange: e.shiftKey || e.offsetY < axis, moved: false };
	}

	private onMove(e: PointerEvent): void {
		const d = this.drag;
		this.cursor = this.t(e.offsetX);
		if (!d) {
			if (e.offsetX < gutter)
				return this.hooks.onName(this.rowAt(e.offsetY)?.row ?? null, e.clientX, e.clientY);
			const hit = this.hit(e.offsetX, e.offsetY);
			this.hooks.onHover(hit, this.cursor, e.clientX, e.clientY);
			return;
		}
		if (!d.moved && Math.abs(e.offsetX - d.x) + Math.abs(e.offsetY - d.y) < 4)
			return;
		d.moved = true;
		if (d.x < gutter)
			return;
		if (d.isRange) {
			this.a = clamp(this.t(d.x), 0, this.duration);
			this.b = clamp(this.cursor, 0, this.duration);
			this.hooks.onMark();
			this.due();
			return;
		}
		const shift = (d.x - e.offsetX) / this.width * (d.to - d.from);
		this.bar.scrollTop = d.scroll + d.y - e.offsetY;
		this.show(d.from + shift, d.to + shift);
	}

	private onUp(e: PointerEvent): void {
		const d = this.drag;
		this.drag = null;
		if (!d || d.moved)
			return;
		if (e.offsetX < gutter) {
			const p = this.rowAt(e.offsetY);
			if (p?.row.isOpen && this.deeper(p.row) && e.offsetY > p.y + rowGap / 2 + this.laneTop(p.row, fullLanes)) {
				p.row.isDeep = !p.row.isDeep;
				this.hooks.onView();
				this.due();
			} else if (p && !p.row.isCpu && !p.row.values) {
				p.row.isOpen = !p.row.isOpen;
				p.row.isToggled = true;
				this.hooks.onView();
				this.due();
			}
			return;
		}
		this.picked = this.hit(e.offsetX, e.offsetY);
		this.hooks.onPick(this.picked, clamp(this.t(e.offsetX), 0, this.duration));
		this.due();
	}

	private onDouble(e: MouseEvent): void {
		const hit = this.hit(e.offsetX, e.offsetY);
		if (hit && hit.kind !== "value")
			this.show(hit.start - hit.len * 0.05 - 10, hit.start + hit.len * 1.05 + 10);
	}
}
