/* SPDX-License-Identifier: MIT */
/*
 * list.ts - the list of events
 *
 * The list may have any number of rows: only the visible ones are elements. The scroll bar covers all rows. Browsers bound heights, so with more than
 * some hundred thousand rows it moves in steps of many rows; wheel and keys go row by row.
 */
import { Api, List, ListRow, RowAt } from "./api";
import { clamp, count, time } from "./format";
import { make } from "./make";

const rowHeight = 18, barMax = 4_000_000, page = 200, pages = 60, flagsWidth = 51;
/* Name, width, and width in a narrow window, where the last column needs the room. */
const columns: [string, number, number][] = [["#", 90, 64], ["time (s)", 130, 128], ["CPU", 40, 34], ["task-tid", 170, 150], ["flags", flagsWidth, flagsWidth], ["event", 150, 118], ["duration", 90, 68], ["info", 0, 0]];
const numbers = [0, 2, 6];	/* aligned to the right */

export interface ListHooks { onChoose(row: ListRow): void; onMenu(row: ListRow, x: number, y: number): void; onError(text: string): void; onTotal(): void }

export class EventList {
	filter = "";
	find = "";
	total = 0;
	first = 0;
	current = -1;
	isMerged = false;
	private cache = new Map<number, ListRow[]>();
	private asked = new Set<number>();
	private rows: HTMLElement;
	private bar: HTMLElement;
	private isOwnScroll = false;
	private epoch = 0;

	constructor(private root: HTMLElement, private api: Api, private hooks: ListHooks) {
		const head = make("div", { className: "row head", role: "row" }, ...columns.map(([name], k) => this.cell(name, k, "columnheader")));
		this.rows = make("div", { className: "rows", role: "rowgroup" });
		this.bar = make("div", { className: "bar" }, make("div"));
		this.bar.setAttribute("aria-hidden", "true");
		root.append(head, this.rows, this.bar);
		this.bar.addEventListener("scroll", () => this.onScroll());
		root.addEventListener("wheel", e => {
			e.preventDefault();
			this.go(this.first + Math.sign(e.deltaY) * Math.max(1, Math.round(Math.abs(e.deltaY) / rowHeight)));
		}, { passive: false });
		root.addEventListener("keydown", e => this.onKey(e));
		this.rows.addEventListener("click", e => {
			const row = (e.target as HTMLElement).closest<HTMLElement>(".row");
			if (row?.dataset["n"] !== undefined)
				this.choose(Number(row.dataset["n"]));
		});
		this.rows.addEventListener("contextmenu", e => {
			const row = (e.target as HTMLElement).closest<HTMLElement>(".row"), n = Number(row?.dataset["n"] ?? NaN), of = this.cache.get(Math.floor(n / page))?.[n % page];
			if (!of)
				return;
			e.preventDefault();
			this.current = n;
			this.draw();
			hooks.onMenu(of, e.clientX, e.clientY);
		});
		new ResizeObserver(() => this.draw()).observe(root);
	}

	/** Shows the column of a kernel's flags: interrupts off, and so on. */
	setFlags(has: boolean): void {
		this.root.classList.toggle("has-flags", has);
	}

	private cell(text: string, column: number, role = "cell"): HTMLElement {
		const span = make("span", { role }, text), [, wide = 0, narrow = 0] = columns[column] ?? [];
		if (wide)
			span.style.width = `clamp(${narrow / 12}em, ${wide / 10}cqw, ${wide / 12}em)`;	/* for text of 12 pixels; wider if the user enlarges it */
		else
			span.style.flex = "1";
		if (numbers.includes(column))
			span.classList.add("number");
		if (wide === flagsWidth) {
			span.classList.add("flags");
			span.title = "irqs-off, need-resched, hardirq or softirq, preempt-depth, migrate-disable: as in the kernel's text";
		}
		return span;
	}

	get seen(): number { return Math.max(1, Math.floor(this.rows.clientHeight / rowHeight)); }

	/** Begins again, for another recording or filter. */
	private setTotal(n: number): void {
		this.total = n;
		this.hooks.onTotal();
	}

	reset(total: number): void {
		this.cache.clear();
		this.asked.clear();
		this.epoch++;
		this.total = total;
		this.current = -1;
		this.go(0);
	}

	async showTime(t: number): Promise<void> {
		try {
			const epoch = this.epoch, at = await this.api.ask<RowAt>("row_at", { filter: this.filter, t: Math.round(t) });
			if (epoch !== this.epoch)
				return;
			this.setTotal(at.total);
			this.showRow(at.row);
		} catch (e) {
			this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	showRow(n: number): void {
		this.current = n;
		this.go(n < this.first || n >= this.first + this.seen - 1 ? n - Math.floor(this.seen / 3) : this.first);
	}

	go(first: number): void {
		this.first = clamp(Math.round(first), 0, Math.max(0, this.total - this.seen));
		const inner = this.bar.firstElementChild as HTMLElement, height = Math.min(barMax, this.total * rowHeight), max = this.total - this.seen;
		inner.style.height = `${height}px`;
		this.isOwnScroll = true;
		this.bar.scrollTop = max > 0 ? this.first / max * (height - this.bar.clientHeight) : 0;
		this.draw();
	}

	private onScroll(): void {
		if (this.isOwnScroll) {
			this.isOwnScroll = false;
			return;
		}
		const height = Math.min(barMax, this.total * rowHeight) - this.bar.clientHeight;
		this.first = clamp(Math.round(this.bar.scrollTop / Math.max(1, height) * (this.total - this.seen)), 0, Math.max(0, this.total - this.seen));
		this.draw();
	}

	private onKey(e: KeyboardEvent): void {
		const step: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: this.seen - 1, PageUp: 1 - this.seen, Home: -this.total, End: this.total };
		const d = step[e.key];
		if (d === undefined)
			return;
		e.preventDefault();
		e.stopPropagation();
		const n = clamp((this.current < 0 ? this.first : this.current) + d, 0, Math.max(0, this.total - 1));
		this.showRow(n);
		this.choose(n);
	}

	private choose(n: number): void {
		this.current = n;
		const row = this.cache.get(Math.floor(n / page))?.[n % page];
		if (row)
			this.hooks.onChoose(row);
		this.draw();
	}

	private async fetch(p: number): Promise<void> {
		if (this.asked.has(p))
			return;
		this.asked.add(p);
		const epoch = this.epoch;
		try {
			const list = await this.api.ask<List>("list", { filter: this.filter, first: p * page, count: page });
			if (epoch !== this.epoch)
				return;
			this.cache.set(p, list.rows);
			if (this.total !== list.total)
				this.setTotal(list.total);
			for (const old of this.cache.keys())
				if (this.cache.size > pages && old !== p) {
					this.cache.delete(old);
					this.asked.delete(old);
				}
			this.draw();
		} catch (e) {
			this.asked.delete(p);
			if (epoch === this.epoch)
				this.hooks.onError(e instanceof Error ? e.message : String(e));
		}
	}

	private info(r: ListRow): string {
		const pad = "  ".repeat(Math.min(r.depth, 40));
		switch (r.event) {
		case "funcgraph_entry": return `${pad}${r.name}() {`;
		case "funcgraph_exit": return `${pad}} /* ${r.name} */`;
		case "left": return `${pad}} /* ${r.name}, left without a return */`;
		case "function": return r.parent ? `${r.name} <-${r.parent}` : r.name;
		case "lost": return `${count(r.lost ?? 0)} events lost`;
		default: return r.name;
		}
	}

	draw(): void {
		const n = Math.min(this.seen + 1, Math.max(0, this.total - this.first)), find = this.find.toLowerCase(), out: HTMLElement[] = [];
		for (let i = this.first; i < this.first + n; i++) {
			const r = this.cache.get(Math.floor(i / page))?.[i % page], row = make("div", { className: "row", role: "row" });
			if (!r) {
				row.append(this.cell(count(i), 0), this.cell("…", columns.length - 1));
				void this.fetch(Math.floor(i / page));
			} else {
				row.dataset["n"] = String(i);
				if (i === this.current)
					row.classList.add("now");
				if (find && (r.name.toLowerCase().includes(find) || r.comm.toLowerCase().includes(find)))
					row.classList.add("hit");
				if (r.event === "lost")
					row.classList.add("lost");
				const texts = [count(i), ((r.ts + this.api.shiftOf(r.file)) / 1e9).toFixed(9).slice(-17), String(r.cpu), `${this.isMerged ? `${r.file + 1}: ` : ""}${r.comm}-${r.tid}`, r.flags ?? "", r.event, r.duration === undefined ? "" : time(r.duration), this.info(r)];
				texts.forEach((text, k) => row.append(this.cell(text, k)));
			}
			out.push(row);
		}
		if (!n)
			out.push(make("div", { className: "message" }, this.total ? "" : "No event here: the recording is empty, or the filter matches none."));
		this.rows.replaceChildren(...out);
	}
}
