/* SPDX-License-Identifier: MIT */
/* reports.ts - the flame graph, the call tree and the latencies of a part of the recording */
import { button, make } from "./make";
import { Api, Histogram, Node, Tree } from "./api";
import { Flame, FlameHooks, message, prepare, sums } from "./flame";
import { colour, count, css, logMarks, many, textNumber, time } from "./format";
import { CallTree } from "./tree";

const weights: [string, (n: Node) => number][] = [["time", n => n[4]], ["calls", n => n[2]], ["blocked time", n => n[7]], ["time without a CPU", n => n[7] + n[8]]];

export interface ReportHooks extends FlameHooks { onError(text: string): void; onChoice(): void; onLongest(h: Histogram): void }

export class Reports {
	func = "";
	filter = "";
	readonly graph: Flame;
	readonly calls: CallTree;
	private tree: Tree | null = null;
	private treeOf = "";
	private coming: Promise<void> = Promise.resolve();
	private histogram: Histogram | null = null;
	private chosen = "";	/* the function that load() chose, because the user had chosen none */
	private brush: { x0: number; x1: number } | null = null;
	private bars = make("canvas", { role: "img", ariaLabel: "Latency histogram" });
	private longest = button("Longest call", "Select it in the graph", () => { if (this.histogram) this.hooks.onLongest(this.histogram); });
	private weight = make("select", { ariaLabel: "Meaning of widths" }, ...weights.map(([name]) => new Option(name)));
	private note = make("span");
	private bar = make("div", { className: "bar-of-fields" });

	constructor(private flame: HTMLElement, private table: HTMLElement, private latency: HTMLElement, private api: Api, private hooks: ReportHooks,
		    private onBrush: (from: number, to: number) => void) {
		this.graph = new Flame(flame, "Flame graph", hooks);
		this.calls = new CallTree(table, name => hooks.onFunction(name), () => hooks.onChoice());
		this.weight.addEventListener("change", () => { this.show(); hooks.onChoice(); });
		this.bar.append("widths: ", this.weight, " ", this.graph.back, this.note);
		this.longest.className = "at-right";
		this.bars.addEventListener("pointerdown", e => { this.brush = { x0: e.offsetX, x1: e.offsetX }; this.bars.setPointerCapture(e.pointerId); });
		this.bars.addEventListener("pointermove", e => { if (this.brush && e.buttons) { this.brush.x1 = e.offsetX; this.drawLatency(); } });
		this.bars.addEventListener("pointerup", () => this.endBrush());
		new ResizeObserver(() => this.drawLatency()).observe(latency);
	}

	/** The number of the value that widths show. */
	get widths(): number { return Math.max(0, this.weight.selectedIndex); }
	set widths(n: number) { this.weight.selectedIndex = weights[n] ? n : 0; }

	get isDark(): boolean { return this.graph.isDark; }

	setTheme(isDark: boolean): void {
		this.graph.isDark = isDark;
		if (this.tree)
			this.show();
		this.drawLatency();
	}

	/* The colour of calls that the filter hides, but that have visible calls below them. */
	private get callerColour(): number { return this.isDark ? 0xff4a4440 : 0xffdedad6; }

	private describe(n: Node): string {
		const [, name, calls, total, self, longest, open, , , blocked, runnable] = n, all = this.tree?.total || 1;
		if (!calls)
			return `${name}\nhidden by the filter; calls below it that the filter shows: ${time(total)} (${(100 * total / all).toFixed(1)} %)`;
		return `${name}\n${time(total)} in all (${(100 * total / all).toFixed(1)} %), ${time(self)} itself\n${count(calls)} calls, the longest ${time(longest)}` + (blocked || runnable ? `\n${time(blocked)} blocked, ${time(runnable)} waiting for a CPU` : "") + (open ? `\n${count(open)} had not returned` : "");
	}

	/** Loads the tree of a part. It may be called again while the same tree is on its way. */
	async load(from: number, to: number, tid: number): Promise<void> {
		const { filter } = this, of = `${this.api.file}|${from}|${to}|${tid}|${filter}`;
		if (of !== this.treeOf) {
			this.treeOf = of;
			this.tree = null;
			this.coming = this.ask(of, { from, to, tid, filter });
		}
		await this.coming;
		if (of === this.treeOf)
			this.show();
	}

	private async ask(of: string, question: { from: number; to: number; tid: number; filter: string }): Promise<void> {
		message(this.flame, "adding up …");
		message(this.table, "adding up …");
		try {
			const tree = await this.api.ask<Tree>("tree", question);
			if (of === this.treeOf)
				this.tree = tree;
		} catch (e) {
			if (of === this.treeOf)
				this.treeOf = "";
			this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	forget(): void { this.treeOf = ""; this.tree = null; this.histogram = null; }

	private get nothing(): string {
		return this.filter ? "The filter shows no call in this part: zoom out, or remove the filter." : "No calls with durations here: zoom out, or record with -p function_graph.";
	}

	private show(): void {
		if (!this.tree)
			return;
		if (!this.tree.nodes.length) {
			message(this.flame, this.nothing);
			message(this.table, this.nothing);
			return;
		}
		const nodes = this.tree.nodes, own = weights[this.weight.selectedIndex]?.[1], isTime = this.weight.selectedIndex <= 0 || !own;
		const values = isTime ? nodes.map(n => n[3]) : sums(nodes, own), total = isTime ? this.tree.total : values.reduce((sum, v, i) => sum + (nodes[i]?.[0] ? 0 : v), 0);
		this.flame.replaceChildren(this.bar, this.graph.canvas, this.graph.scroll);
		this.note.textContent = total ? "" : " no such times here: record with --sched-switch";
		this.graph.show(nodes.map((n, i) => ({ depth: n[0], name: n[1], value: values[i] ?? 0, colour: n[2] ? colour(textNumber(n[1]), this.isDark) : this.callerColour, tip: this.describe(n) })), total || 1);
		this.calls.show(this.tree);
	}

	/** The text to find: matches stand out in the flame graph and in the call tree. */
	set find(text: string) {
		this.graph.find = text;
		this.graph.draw();
		this.calls.find = text;
	}

	/* ---- Latencies ---- */

	/*
	 * The function that is most worth a look: the largest product of its time on a CPU and its calls that returned, over all its places in the tree. By
	 * time alone it would be a function that waits: select(), or main().
	 */
	private busiest(): string {
		const of = new Map<string, [number, number]>();
		for (const [, name, calls, , self, , open, blocked, runnable] of this.tree?.nodes ?? []) {
			const [all, busy] = of.get(name) ?? [0, 0], ended = calls - open;
			of.set(name, [all + ended, busy + Math.max(0, self - blocked - runnable) * ended / Math.max(1, calls)]);
		}
		let best = "", most = -1;
		for (const [name, [calls, busy]] of of)
			if (calls * busy > most)
				[best, most] = [name, calls * busy];
		return best;
	}

	async loadLatency(from: number, to: number, tid: number): Promise<void> {
		if (!this.func) {
			message(this.latency, "adding up …");
			await this.load(from, to, tid);
			this.func = this.chosen = this.func || this.busiest();
		}
		if (!this.func)
			return message(this.latency, this.nothing);
		try {
			const func = this.func, filter = this.filter;
			message(this.latency, `adding up the calls of ${func} …`);
			const h = await this.api.ask<Histogram>("histogram", { from, to, tid, func, filter });
			if (func !== this.func || filter !== this.filter)
				return;
			this.histogram = h;
			this.brush = null;
			this.longest.hidden = !h.calls;
			this.latency.replaceChildren(this.bars, this.longest);
			this.drawLatency();
		} catch (e) {
			this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	private get span(): [number, number] {
		const h = this.histogram as Histogram, lo = Math.log(Math.max(1, h.min)), hi = Math.log(Math.max(h.max, h.min + 3));	/* two marks at least */
		return [lo - 0.05, Math.max(hi, lo + 0.1) + 0.05];
	}

	drawLatency(): void {
		const h = this.histogram;
		if (!h || !this.bars.isConnected)
			return;
		const g = prepare(this.bars), w = this.bars.clientWidth, height = this.bars.clientHeight, left = 12, foot = 22, top = 42;	/* the button is above */
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
		const filtered = this.filter ? " that the filter shows" : "", told = h.calls ? `${h.func}: ${many(h.calls, "call")}${filtered}, p50 ${time(h.p50)}, p99 ${time(h.p99)}, max ${time(h.max)}` : `${h.func}: no call here${filtered}`;
		const hints = h.calls ? [`   (logarithmic; drag to filter${h.func === this.chosen ? "; the function with the most time in many calls: click another" : ""})`, "   (logarithmic; drag to filter)"] : [];
		g.fillText(told + (hints.find(hint => g.measureText(told + hint).width < w - 2 * left - this.longest.offsetWidth) ?? ""), left, 15);
		g.fillStyle = style.getPropertyValue("--dim");
		for (const ns of h.calls ? logMarks(Math.exp(lo), Math.exp(hi), 70 / (w - 2 * left)) : []) {
			g.fillRect(x(ns), height - foot, 1, 4);
			if (x(ns) + 3 + g.measureText(time(ns)).width < w)
				g.fillText(time(ns), x(ns) + 3, height - 7);
		}
		for (let calls = 1; calls <= most && h.calls; calls *= 10) {	/* the scale of the bars, in calls */
			const y = Math.round(height - foot - Math.log(calls + 1) / Math.log(most + 1) * tall);
			g.globalAlpha = 0.25;
			g.fillRect(left, y, w - 2 * left, 1);
			g.globalAlpha = 1;
			if (height - foot - y > 14)
				g.fillText(many(calls, "call"), w - left - g.measureText(many(calls, "call")).width, y - 3);
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
