/* SPDX-License-Identifier: MIT */
/* diff.ts - the difference from another recording (A) to this one (B): a flame graph coloured by the change, and a table */
import { Api, Diff, Pair } from "./api";
import { Flame, FlameHooks, message, sums } from "./flame";
import { clamp, count, mix, time } from "./format";
import { Column, tableHead, tableRow } from "./table";
import { make } from "./make";

/* A value to compare: own gives a node's own values in A and in B, text prints one; more and less are the words for a change. */
interface Measure { name: string; column: string; own: (n: Pair) => [number, number]; text: (v: number) => string; more: string; less: string }
const measures: Measure[] = [
	{ name: "time", column: "self", own: n => [n[6], n[7]], text: time, more: "slower", less: "faster" },
	{ name: "calls", column: "", own: n => [n[2], n[3]], text: count, more: "more", less: "fewer" },
	{ name: "blocked time", column: "blocked", own: n => [n[8], n[9]], text: time, more: "longer", less: "shorter" },
	{ name: "time without a CPU", column: "no CPU", own: n => [n[8] + n[10], n[9] + n[11]], text: time, more: "longer", less: "shorter" },
];
const more = 0xff3a3ad6, less = 0xffc8782e;

function columnsOf(m: Measure): Column[] {
	const of = m.column ? [{ name: `${m.column} A`, width: 76 }, { name: `${m.column} B`, width: 76 }] : [];
	return [{ name: "change", width: 76 }, { name: "what", width: 58, isText: true }, ...of, { name: "calls A", width: 74 }, { name: "calls B", width: 74 }, { name: "function <- its callers", width: 0 }];
}

export class DiffView {
	readonly graph: Flame;
	private diff: Diff | null = null;
	private diffOf = "";
	private isOfA = false;		/* the flame graph has the widths of A, which shows calls that are gone in B */
	private box = make("div", { className: "half" });
	private table = make("div", { className: "half mono scrolls", tabIndex: 0 });
	private other = make("select", { ariaLabel: "Recording A" });
	private widths = make("select", { ariaLabel: "Widths of the flame graph" }, new Option("as wide as in B", "b"), new Option("as wide as in A", "a"));
	private what = make("select", { ariaLabel: "Value to compare" }, ...measures.map(m => new Option(m.name)));
	private measure = measures[0] as Measure;
	private summary = make("span");

	constructor(root: HTMLElement, private api: Api, private hooks: FlameHooks, private onChoice: () => void) {
		this.graph = new Flame(this.box, "Flame graph of the difference", hooks);
		this.what.addEventListener("change", () => { this.by = this.what.selectedIndex; this.show(); this.onChoice(); });
		this.other.addEventListener("change", () => void this.load());
		this.widths.addEventListener("change", () => { this.isOfA = this.widths.value === "a"; this.show(); });
		const bar = make("div", { className: "bar-of-fields" }, "from A ", this.other, " to B, this one, by ", this.what, " ", this.widths, " ", this.graph.back, " ", this.summary);
		root.append(bar, this.box, this.table);
	}

	/** Sets the choice of recordings. */
	setFiles(files: string[]): void {
		this.other.replaceChildren(...files.map((f, i) => new Option(f, String(i))));
	}

	/** The number of the compared value. */
	get by(): number { return measures.indexOf(this.measure); }
	set by(n: number) {
		this.measure = measures[n] ?? measures[0] as Measure;
		this.what.selectedIndex = this.by;
	}

	setTheme(isDark: boolean): void {
		this.graph.isDark = isDark;
		if (this.diff)
			this.show();
	}

	forget(): void { this.diffOf = ""; this.diff = null; }

	async load(): Promise<void> {
		if (this.api.file === "all" || this.other.options.length < 2) {
			this.summary.textContent = "";
			return message(this.box, "The difference needs two recordings: open both (uft view A.uft B.uft), and choose one of them above.");
		}
		if (Number(this.other.value) === this.api.file)
			this.other.value = String(this.api.file === 0 ? 1 : 0);
		const of = `${this.other.value}|${this.api.file}`;
		if (of === this.diffOf)
			return this.show();
		this.diffOf = of;
		this.diff = null;
		message(this.box, "comparing …");
		this.table.replaceChildren();
		try {
			const diff = await this.api.ask<Diff>("diff", { with: this.other.value });
			if (of !== this.diffOf)
				return;
			this.diff = diff;
			this.show();
		} catch (e) {
			this.diffOf = "";
			message(this.box, e instanceof Error ? e.message : String(e));
		}
	}

	private change(n: Pair): number {
		const [a, b] = this.measure.own(n);
		return b - a;
	}

	private word(n: Pair): string {
		const by = this.change(n);
		return !n[2] ? "new" : !n[3] ? "gone" : by > 0 ? this.measure.more : by < 0 ? this.measure.less : "same";
	}

	private signed(v: number): string { return (v > 0 ? "+" : "") + this.measure.text(v); }

	/* Red: more, blue: less; the strength is the changed share of the node's own value. */
	private colour(n: Pair): number {
		const ground = this.graph.isDark ? 0xff4a4440 : 0xffdedad6, all = Math.max(...this.measure.own(n)), by = this.change(n);
		return mix(ground, by > 0 ? more : less, all ? clamp(Math.abs(by) / all, 0, 1) * 0.9 : 0);
	}

	private describe(n: Pair): string {
		const m = this.measure, [a, b] = m.own(n), isTime = m === measures[0];
		return `${n[1]}: ${this.word(n)}\n${isTime ? "itself" : m.name} ${m.text(a)} → ${m.text(b)} (${this.signed(b - a)})` +
		       (isTime ? `\nin all ${time(n[4])} → ${time(n[5])}` : "") + (m.column ? `\ncalls ${count(n[2])} → ${count(n[3])}` : "");
	}

	/* The sums of both sides, by node: the node's value and those of all nodes below it. */
	private values(nodes: Pair[]): [number[], number[]] {
		const own = this.measure.own;
		return this.measure === measures[0] ? [nodes.map(n => n[4]), nodes.map(n => n[5])] : [sums(nodes, n => own(n)[0]), sums(nodes, n => own(n)[1])];
	}

	private show(): void {
		const d = this.diff;
		if (!d)
			return;
		if (!d.nodes.length)
			return message(this.box, "Neither recording has calls with durations: record with -p function_graph.");
		const m = this.measure, sides = this.values(d.nodes), [a, b] = m === measures[0] ? [d.total_a, d.total_b] : sides.map(v => v.reduce((sum, x, i) => sum + (d.nodes[i]?.[0] ? 0 : x), 0)) as [number, number];
		this.summary.textContent = a || b ? `${m.text(a)} → ${m.text(b)} (${this.signed(b - a)}${a ? `, ${(100 * (b - a) / a).toFixed(1)} %` : ""})` :
			"neither recording has these times: record with --sched-switch";
		this.box.replaceChildren(this.graph.canvas, this.graph.scroll);
		this.graph.show(d.nodes.map((n, i) => ({ depth: n[0], name: n[1], value: sides[this.isOfA ? 0 : 1]?.[i] ?? 0, colour: this.colour(n), tip: this.describe(n) })),
			this.isOfA ? a : b);
		this.fillTable(d);
	}

	private fillTable(d: Diff): void {
		const above: number[] = [], callers = d.nodes.map((n, i) => {
			above[n[0]] = i;
			return n[0] ? above[n[0] - 1] ?? -1 : -1;
		});
		const path = (i: number): string => {
			const names: string[] = [];
			for (; i >= 0; i = callers[i] ?? -1)
				names.push(d.nodes[i]?.[1] ?? "");
			return names.join(" <- ");
		};
		const rows = d.nodes.map((n, i) => ({ n, i })).sort((x, y) => Math.abs(this.change(y.n)) - Math.abs(this.change(x.n)));
		const m = this.measure, columns = columnsOf(m);
		this.table.replaceChildren(tableHead(columns), ...rows.slice(0, 1000).map(({ n, i }) => {
			const text = path(i), row = tableRow(columns, [this.signed(this.change(n)), this.word(n), ...(m.column ? m.own(n).map(m.text) : []), count(n[2]), count(n[3]), text]);
			row.title = text;
			row.addEventListener("click", () => this.hooks.onFunction(n[1]));
			return row;
		}));
	}
}
