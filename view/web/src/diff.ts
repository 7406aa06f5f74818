/* SPDX-License-Identifier: MIT */
/* diff.ts - what changed from another recording (A) to this one (B): a flame graph coloured by the change, and a table */
import { Api, Diff, Pair } from "./api";
import { Flame, FlameHooks, message } from "./flame";
import { clamp, count, mix, time } from "./format";
import { Column, tableHead, tableRow } from "./table";

const columns: Column[] = [{ name: "change", width: 90 }, { name: "what", width: 60 }, { name: "self A", width: 85 }, { name: "self B", width: 85 }, { name: "calls A", width: 80 }, { name: "calls B", width: 80 }, { name: "path", width: 0 }];
const slower = 0xff3a3ad6, faster = 0xffc8782e;

function change(n: Pair): number { return n[7] - n[6]; }

function word(n: Pair): string {
	return !n[2] ? "new" : !n[3] ? "gone" : change(n) > 0 ? "slower" : change(n) < 0 ? "faster" : "same";
}

function signed(ns: number): string { return (ns > 0 ? "+" : "") + time(ns); }

export class DiffView {
	readonly graph: Flame;
	private diff: Diff | null = null;
	private diffOf = "";
	private isOfA = false;		/* widths of the flame graph: those of A, in which what is gone is seen */
	private box = document.createElement("div");
	private table = document.createElement("div");
	private other = document.createElement("select");
	private widths = document.createElement("select");
	private summary = document.createElement("span");

	constructor(root: HTMLElement, private api: Api, private hooks: FlameHooks) {
		const bar = document.createElement("div");
		bar.className = "bar-of-fields";
		this.box.className = "half";
		this.table.className = "half mono scrolls";
		this.table.tabIndex = 0;
		this.graph = new Flame(this.box, "Flame graph of the difference", hooks);
		this.other.setAttribute("aria-label", "Recording A");
		this.widths.setAttribute("aria-label", "Widths of the flame graph");
		this.widths.append(new Option("as wide as in B", "b"), new Option("as wide as in A", "a"));
		this.other.addEventListener("change", () => void this.load());
		this.widths.addEventListener("change", () => { this.isOfA = this.widths.value === "a"; this.show(); });
		bar.append("from A ", this.other, " to B, this one, ", this.widths, " ", this.summary);
		root.append(bar, this.box, this.table);
	}

	/** The recordings that there are. */
	setFiles(files: string[]): void {
		this.other.replaceChildren(...files.map((f, i) => new Option(f, String(i))));
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
			return message(this.box, "Two recordings are compared: open both (uft view A.uft B.uft), and choose one of them above.");
		}
		if (Number(this.other.value) === this.api.file)
			this.other.value = String(this.api.file === 0 ? 1 : 0);
		const of = `${this.other.value}|${this.api.file}`;
		if (of === this.diffOf)
			return this.show();
		this.diffOf = of;
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

	/* Red is slower, blue faster: as strong as the share of the node's own time that changed. */
	private colour(n: Pair): number {
		const ground = this.graph.isDark ? 0xff4a4440 : 0xffdedad6, all = Math.max(n[6], n[7]);
		return mix(ground, change(n) > 0 ? slower : faster, all ? clamp(Math.abs(change(n)) / all, 0, 1) * 0.9 : 0);
	}

	private show(): void {
		const d = this.diff;
		if (!d)
			return;
		if (!d.nodes.length)
			return message(this.box, "Neither recording has calls with durations: record with -p function_graph.");
		const moved = d.total_b - d.total_a;
		this.summary.textContent = `${time(d.total_a)} → ${time(d.total_b)} (${signed(moved)}, ${d.total_a ? (100 * moved / d.total_a).toFixed(1) : "?"} %)`;
		this.box.replaceChildren(this.graph.canvas);
		this.graph.show(d.nodes.map(n => ({
			depth: n[0], name: n[1], value: this.isOfA ? n[4] : n[5], colour: this.colour(n),
			tip: `${n[1]}: ${word(n)}\nitself ${time(n[6])} → ${time(n[7])} (${signed(change(n))})\nin all ${time(n[4])} → ${time(n[5])}\ncalls ${count(n[2])} → ${count(n[3])}`,
		})), this.isOfA ? d.total_a : d.total_b);
		this.fillTable(d);
	}

	private fillTable(d: Diff): void {
		const path: string[] = [], rows = d.nodes.map(n => {
			path.length = n[0];
			path.push(n[1]);
			return { n, path: path.length > 4 ? "…;" + path.slice(-3).join(";") : path.join(";") };
		});
		rows.sort((x, y) => Math.abs(change(y.n)) - Math.abs(change(x.n)));
		this.table.replaceChildren(tableHead(columns), ...rows.slice(0, 1000).map(({ n, path: text }) => {
			const row = tableRow(columns, [signed(change(n)), word(n), time(n[6]), time(n[7]), count(n[2]), count(n[3]), text]);
			row.addEventListener("click", () => this.hooks.onFunction(n[1]));
			return row;
		}));
	}
}
