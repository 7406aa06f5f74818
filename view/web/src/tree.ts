/* SPDX-License-Identifier: MIT */
/*
 * tree.ts - the call tree as a table whose rows fold
 *
 * A row is a path. Folds are remembered by path, so they stay when another part is shown. The keys are those of other trees: arrows move, left folds
 * or goes up, right unfolds or goes down, Enter selects the function. A call that the filter hides, but that has visible calls below it, is pale and
 * has no numbers of its own.
 */
import { button, make } from "./make";
import { Node, Tree } from "./api";
import { clamp, count, textNumber, time } from "./format";
import { Column, tableHead, tableRow } from "./table";

const columns: Column[] = [{ name: "total", width: 90 }, { name: "%", width: 60 }, { name: "self", width: 90 }, { name: "calls", width: 90 }, { name: "longest", width: 90 }, { name: "blocked", width: 90 }, { name: "no CPU", width: 90 }, { name: "function", width: 0 }];
const waits = ["blocked", "no CPU"], least = 0.002, rowsMost = 1500;

/* Deeper calls are not indented further: a number shows their depth. */
const indented = 12;
const indent = (depth: number): string => "  ".repeat(Math.min(depth, indented)), deep = (depth: number): string => depth > indented ? `[${depth}] ` : "";

interface Line { node: Node; path: number; parent: number; isFolded: boolean; hasMore: boolean; names: string[] }

export class CallTree {
	private folded = new Set<number>();
	private tree: Tree | null = null;
	private lines: Line[] = [];
	private now = 0;	/* the line that has the focus */
	private text = "";	/* the text to find */
	private grid = make("div", { className: "grid", tabIndex: 0, role: "treegrid", ariaLabel: "Call tree" });
	private bar = make("div", { className: "bar-of-fields" });
	private note = make("span");

	constructor(private root: HTMLElement, private onFunction: (name: string) => void, private onChoice: () => void) {
		this.grid.addEventListener("keydown", e => this.onKey(e));
		this.grid.addEventListener("click", e => this.onClick(e));
		this.grid.addEventListener("dblclick", e => { const i = this.lineOf(e); if (i >= 0) this.fold(i, !this.lines[i]?.isFolded); });
		this.bar.append(button("Fold all", "Only the outermost calls", () => this.foldAll()), " ", button("Unfold all", "All calls", () => { this.folded.clear(); this.changed(); }), this.note);
	}

	/** The folded paths, for the address. */
	get folds(): string { return [...this.folded].slice(0, 200).map(n => n.toString(36)).join("."); }
	set folds(text: string) { this.folded = new Set(text.split(".").filter(t => /^[0-9a-z]{1,7}$/.test(t)).slice(0, 200).map(t => parseInt(t, 36))); }

	show(tree: Tree): void {
		this.tree = tree;
		this.fill();
	}

	set find(text: string) {
		this.text = text.toLowerCase();
		this.showFound();
	}

	private changed(): void {
		this.fill();
		this.onChoice();
	}

	/* Calls take() for each node that is long enough, with its path and whether nodes follow below it. */
	private each(tree: Tree, take: (n: Node, path: number, hasMore: boolean) => void): number {
		const paths: number[] = [], { nodes } = tree;
		let short = tree.left_out;
		nodes.forEach((n, i) => {
			const below = nodes[i + 1], path = paths[n[0]] = textNumber(`${n[0] ? paths[n[0] - 1] : ""}/${n[1]}`);
			if (n[3] < tree.total * least)
				short++;
			else
				take(n, path, !!below && below[0] > n[0] && below[3] >= tree.total * least);
		});
		return short;
	}

	private foldAll(): void {
		this.each(this.tree as Tree, (n, path, hasMore) => { if (hasMore && !n[0]) this.folded.add(path); });
		this.changed();
	}

	private fill(): void {
		const tree = this.tree as Tree, hasWaits = tree.nodes.some(n => n[9] || n[10]), shown = columns.filter(c => hasWaits || !waits.includes(c.name));
		const scrolled = this.root.scrollTop, parents: number[] = [];
		let inside = Infinity, more = 0;
		this.lines = [];
		const short = this.each(tree, (node, path, hasMore) => {
			if (node[0] > inside) {
				this.lines.at(-1)?.names.push(node[1]);
				return;
			}
			const isFolded = hasMore && this.folded.has(path);
			inside = isFolded ? node[0] : Infinity;
			if (this.lines.length >= rowsMost) {
				more++;
				return;
			}
			parents[node[0]] = this.lines.length;
			this.lines.push({ node, path, parent: node[0] ? parents[node[0] - 1] ?? -1 : -1, isFolded, hasMore, names: [] });
		});
		const head = tableHead(shown);
		for (const cell of head.children)
			cell.setAttribute("role", "columnheader");
		head.setAttribute("role", "row");
		this.grid.replaceChildren(head, ...this.lines.map((l, i) => this.row(l, i, shown, tree)));
		this.note.textContent = [short ? `${count(short)} paths with less than ${100 * least} % of the time are not shown` : "", more ? `${count(more)} more: fold some` : ""].filter(t => t).map(t => `  ${t}`).join(";");
		this.root.replaceChildren(this.bar, this.grid);
		this.root.scrollTop = scrolled;
		this.move(clamp(this.now, 0, Math.max(0, this.lines.length - 1)), false);
		this.showFound();
	}

	private row(l: Line, i: number, shown: Column[], tree: Tree): HTMLElement {
		const n = l.node, own = n[2] ? [time(n[4]), count(n[2]), time(n[5])] : ["", "", ""], texts = [time(n[3]), (100 * n[3] / (tree.total || 1)).toFixed(1), ...own, n[9] ? time(n[9]) : "", n[10] ? time(n[10]) : "", n[1] + (n[6] ? "  (open)" : "")];
		const row = tableRow(shown, shown.map(c => texts[columns.indexOf(c)] ?? "")), twist = make("i"), name = row.lastElementChild as HTMLElement;
		for (const cell of row.children)
			cell.setAttribute("role", "gridcell");
		row.classList.toggle("hidden-call", !n[2]);
		row.setAttribute("role", "row");
		row.setAttribute("aria-level", String(n[0] + 1));
		row.id = `tree-${i}`;
		row.dataset["i"] = String(i);
		if (l.hasMore)
			row.setAttribute("aria-expanded", String(!l.isFolded));
		twist.setAttribute("aria-hidden", "true");
		twist.textContent = l.hasMore ? l.isFolded ? "▸ " : "▾ " : "  ";
		name.prepend(indent(n[0]), twist, deep(n[0]));
		return row;
	}

	private showFound(): void {
		for (const row of this.grid.querySelectorAll<HTMLElement>("[data-i]")) {
			const l = this.lines[Number(row.dataset["i"])], is = (name: string): boolean => !!this.text && name.toLowerCase().includes(this.text);
			row.classList.toggle("hit", !!l && (is(l.node[1]) || l.names.some(is)));	/* or a folded row below it */
		}
	}

	private fold(i: number, is: boolean): void {
		const l = this.lines[i];
		if (!l?.hasMore || l.isFolded === is)
			return;
		if (is)
			this.folded.add(l.path);
		else
			this.folded.delete(l.path);
		this.now = i;
		this.changed();
	}

	private lineOf(e: Event): number { return Number((e.target as HTMLElement).closest<HTMLElement>("[data-i]")?.dataset["i"] ?? -1); }

	private onClick(e: MouseEvent): void {
		const i = this.lineOf(e), l = this.lines[i];
		if (!l)
			return;
		this.move(i, false);
		if ((e.target as HTMLElement).localName === "i")
			return this.fold(i, !l.isFolded);
		this.onFunction(l.node[1]);
	}

	private move(i: number, isSeen = true): void {
		const old = this.grid.querySelector(".now"), row = this.grid.querySelector(`[data-i="${i}"]`);
		this.now = i;
		old?.classList.remove("now");
		row?.classList.add("now");
		if (row)
			this.grid.setAttribute("aria-activedescendant", row.id);
		else
			this.grid.removeAttribute("aria-activedescendant");
		if (isSeen)
			row?.scrollIntoView({ block: "nearest" });
	}

	private onKey(e: KeyboardEvent): void {
		const l = this.lines[this.now], last = this.lines.length - 1, page = Math.max(1, Math.floor(this.root.clientHeight / 18) - 2);
		const to: Record<string, number> = { ArrowDown: this.now + 1, ArrowUp: this.now - 1, PageDown: this.now + page, PageUp: this.now - page, Home: 0, End: last };
		if (!l || e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (to[e.key] !== undefined)
			this.move(clamp(to[e.key] as number, 0, last));
		else if (e.key === "Enter" || e.key === " ")
			this.onFunction(l.node[1]);
		else if (e.key === "ArrowLeft")
			if (l.hasMore && !l.isFolded)
				this.fold(this.now, true);
			else
				this.move(Math.max(0, l.parent));
		else if (e.key === "ArrowRight")
			if (l.isFolded)
				this.fold(this.now, false);
			else
				this.move(l.hasMore ? this.now + 1 : this.now);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
}
