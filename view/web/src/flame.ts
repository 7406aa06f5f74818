/* SPDX-License-Identifier: MIT */
/* flame.ts - the flame graph, the call tree and the latencies of a part of the recording */
import { Api, Histogram, Node, Tree } from "./api";
import { colour, count, css, mix, textNumber, time } from "./format";

const rowHeight = 18;

interface Placed { node: Node; i: number; x: number; w: number }	/* shares of the whole */

function message(root: HTMLElement, text: string): void {
	const div = document.createElement("div");
	div.className = "message";
	div.textContent = text;
	root.replaceChildren(div);
}

function prepare(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
	const ratio = devicePixelRatio;
	canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
	canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
	const g = canvas.getContext("2d");
	g?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return g;
}

export interface FlameHooks { onFunction(name: string): void; onTip(text: string, x: number, y: number): void; onError(text: string): void }

export class Reports {
	isDark = false;
	find = "";
	func = "";
	private tree: Tree | null = null;
	private treeOf = "";
	private placed: Placed[] = [];
	private root = -1;		/* node that is zoomed to */
	private histogram: Histogram | null = null;
	private brush: { x0: number; x1: number } | null = null;
	private canvas = document.createElement("canvas");
	private bars = document.createElement("canvas");

	constructor(private flame: HTMLElement, private table: HTMLElement, private latency: HTMLElement, private api: Api, private hooks: FlameHooks,
		    private onBrush: (from: number, to: number) => void) {
		this.canvas.setAttribute("role", "img");
		this.canvas.setAttribute("aria-label", "Flame graph");
		this.bars.setAttribute("role", "img");
		this.bars.setAttribute("aria-label", "Latency histogram");
		this.canvas.addEventListener("click", e => this.onClick(e));
		this.canvas.addEventListener("pointermove", e => {
			const p = this.at(e.offsetX, e.offsetY);
			hooks.onTip(p ? this.describe(p.node) : "", e.clientX, e.clientY);
		});
		this.canvas.addEventListener("pointerleave", () => hooks.onTip("", 0, 0));
		this.bars.addEventListener("pointerdown", e => { this.brush = { x0: e.offsetX, x1: e.offsetX }; this.bars.setPointerCapture(e.pointerId); });
		this.bars.addEventListener("pointermove", e => { if (this.brush && e.buttons) { this.brush.x1 = e.offsetX; this.drawLatency(); } });
		this.bars.addEventListener("pointerup", () => this.endBrush());
		new ResizeObserver(() => this.drawFlame()).observe(flame);
		new ResizeObserver(() => this.drawLatency()).observe(latency);
	}

	private describe(n: Node): string {
		const [, name, calls, total, self, longest, open] = n, all = this.tree?.total || 1;
		return `${name}\n${time(total)} in all (${(100 * total / all).toFixed(1)} %), ${time(self)} itself\n${count(calls)} calls, the longest ${time(longest)}` + (open ? `\n${count(open)} had not returned` : "");
	}

	async load(from: number, to: number, tid: number): Promise<void> {
		const of = `${this.api.file}|${from}|${to}|${tid}`;
		if (of === this.treeOf)
			return this.show();
		this.treeOf = of;
		message(this.flame, "adding up …");
		message(this.table, "adding up …");
		try {
			const tree = await this.api.ask<Tree>("tree", { from, to, tid });
			if (of !== this.treeOf)
				return;
			this.tree = tree;
			this.root = -1;
			this.show();
		} catch (e) {
			this.treeOf = "";
			this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	forget(): void { this.treeOf = ""; this.tree = null; this.histogram = null; }

	private show(): void {
		if (!this.tree?.nodes.length) {
			const why = "No calls with durations here: zoom out, or record with -p function_graph.";
			message(this.flame, why);
			message(this.table, why);
			return;
		}
		this.flame.replaceChildren(this.canvas);
		this.drawFlame();
		this.fillTable();
	}

	drawFlame(): void {
		if (!this.tree || !this.canvas.isConnected)
			return;
		const g = prepare(this.canvas), nodes = this.tree.nodes, w = this.canvas.clientWidth, h = this.canvas.clientHeight, find = this.find.toLowerCase();
		if (!g)
			return;
		const ground = this.isDark ? 0xff1c1714 : 0xffffffff, at: number[] = [], base = this.root >= 0 ? nodes[this.root] as Node : null;
		const whole = base ? base[3] : this.tree.total || 1, above = base ? base[0] : 0;
		this.placed = [];
		at[above] = 0;
		g.clearRect(0, 0, w, h);
		g.font = '11px "DejaVu Sans", system-ui, sans-serif';
		for (let i = this.root >= 0 ? this.root : 0; i < nodes.length; i++) {
			const node = nodes[i] as Node, depth = node[0];
			if (base && i > this.root && depth <= above)
				break;
			const x = at[depth] ?? 0, width = node[3] / whole, y = (depth - above) * rowHeight;
			at[depth] = x + width;
			at[depth + 1] = x;
			if (width * w < 0.6 || y > h)
				continue;
			this.placed.push({ node, i, x, w: width });
			let c = colour(textNumber(node[1]), this.isDark);
			if (find && !node[1].toLowerCase().includes(find))
				c = mix(ground >>> 0, c, 0.22);
			g.fillStyle = css(c);
			g.fillRect(x * w, y, Math.max(1, width * w - 0.5), rowHeight - 1);
			const room = Math.floor((width * w - 6) / 6.2);
			if (room > 2) {
				g.fillStyle = this.isDark ? "#fff" : "#111";
				g.fillText(node[1].length > room ? node[1].slice(0, room - 1) + "…" : node[1], x * w + 3, y + 13);
			}
		}
	}

	private at(x: number, y: number): Placed | null {
		const w = this.canvas.clientWidth, depth = Math.floor(y / rowHeight) + (this.root >= 0 ? (this.tree?.nodes[this.root]?.[0] ?? 0) : 0);
		return this.placed.find(p => p.node[0] === depth && x >= p.x * w && x < (p.x + p.w) * w) ?? null;
	}

	private onClick(e: MouseEvent): void {
		const p = this.at(e.offsetX, e.offsetY);
		this.root = p && p.i !== this.root ? p.i : -1;
		if (p)
			this.hooks.onFunction(p.node[1]);
		this.drawFlame();
	}

	private fillTable(): void {
		const tree = this.tree as Tree, rows: HTMLElement[] = [], columns: [string, number][] = [["total", 90], ["%", 60], ["self", 90], ["calls", 90], ["longest", 90], ["function", 0]];
		const make = (texts: string[], kind: string): HTMLElement => {
			const row = document.createElement("div");
			row.className = `row ${kind}`;
			texts.forEach((text, i) => {
				const span = document.createElement("span"), width = columns[i]?.[1] ?? 0;
				span.textContent = text;
				if (width)
					span.style.width = `${width}px`;
				else
					span.style.flex = "1";
				row.append(span);
			});
			return row;
		};
		rows.push(make(columns.map(c => c[0]), "head"));
		for (const n of tree.nodes) {
			if (n[3] < tree.total * 0.002 || rows.length > 1500)
				continue;
			const row = make([time(n[3]), (100 * n[3] / (tree.total || 1)).toFixed(1), time(n[4]), count(n[2]), time(n[5]), "  ".repeat(n[0]) + n[1] + (n[6] ? "  (open)" : "")], "");
			row.addEventListener("click", () => this.hooks.onFunction(n[1]));
			rows.push(row);
		}
		this.table.replaceChildren(...rows);
	}

	/* ---- Latencies ---- */

	async loadLatency(from: number, to: number, tid: number): Promise<void> {
		if (!this.func)
			return message(this.latency, "Click a call, or a function of the flame graph or the call tree: here are the durations of its calls.");
		try {
			const func = this.func;
			message(this.latency, `adding up the calls of ${func} …`);
			const h = await this.api.ask<Histogram>("histogram", { from, to, tid, func });
			if (func !== this.func)
				return;
			this.histogram = h;
			this.brush = null;
			this.latency.replaceChildren(this.bars);
			this.drawLatency();
		} catch (e) {
			this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	private get span(): [number, number] {
		const h = this.histogram as Histogram, lo = Math.log(Math.max(1, h.min)), hi = Math.log(Math.max(2, h.max));
		return [lo - 0.05, Math.max(hi, lo + 0.1) + 0.05];
	}

	drawLatency(): void {
		const h = this.histogram;
		if (!h || !this.bars.isConnected)
			return;
		const g = prepare(this.bars), w = this.bars.clientWidth, height = this.bars.clientHeight, left = 12, foot = 22, top = 24;
		if (!g)
			return;
		const style = getComputedStyle(document.documentElement), [lo, hi] = this.span, x = (ns: number): number => left + (Math.log(Math.max(1, ns)) - lo) / (hi - lo) * (w - 2 * left);
		const most = Math.max(1, ...h.buckets.map(b => b[2])), tall = height - foot - top;
		g.clearRect(0, 0, w, height);
		g.font = '11px "DejaVu Sans", system-ui, sans-serif';
		g.fillStyle = css(colour(textNumber(h.func), this.isDark));
		for (const [from, to, calls] of h.buckets) {
			const bar = Math.max(2, Math.log(calls + 1) / Math.log(most + 1) * tall);
			g.fillRect(x(from), height - foot - bar, Math.max(1.5, x(to + 1) - x(from) - 0.5), bar);
		}
		g.fillStyle = style.getPropertyValue("--text");
		g.fillText(h.calls ? `${h.func}: ${count(h.calls)} calls, p50 ${time(h.p50)}, p99 ${time(h.p99)}, max ${time(h.max)}   (logarithmic; drag to filter)` : `${h.func}: no call here`, left, 15);
		g.fillStyle = style.getPropertyValue("--dim");
		for (let ns = 1; ns < 1e12; ns *= 10)
			for (const m of [1, 3])
				if (x(ns * m) > left && x(ns * m) < w - 40 && h.calls) {
					g.fillRect(x(ns * m), height - foot, 1, 4);
					g.fillText(time(ns * m), x(ns * m) + 3, height - 7);
				}
		if (this.brush) {
			g.globalAlpha = 0.2;
			g.fillStyle = style.getPropertyValue("--mark");
			g.fillRect(Math.min(this.brush.x0, this.brush.x1), top, Math.abs(this.brush.x1 - this.brush.x0), height - foot - top);
			g.globalAlpha = 1;
		}
	}

	private endBrush(): void {
		const b = this.brush, w = this.bars.clientWidth, left = 12;
		if (!b || !this.histogram || Math.abs(b.x1 - b.x0) < 4) {
			this.brush = null;
			return;
		}
		const [lo, hi] = this.span, ns = (x: number): number => Math.exp(lo + (x - left) / (w - 2 * left) * (hi - lo));
		this.onBrush(Math.floor(ns(Math.min(b.x0, b.x1))), Math.ceil(ns(Math.max(b.x0, b.x1))));
	}
}
