/* SPDX-License-Identifier: MIT */
/*
 * details.ts - the pane with details of the selection
 *
 * The selection is a moment of a thread: a call that is open there, identified by its depth, or an event. The open calls come from a picture one
 * nanosecond wide. The rest are answers about that call, each shown when it arrives.
 */
import { button, make } from "./make";
import { Api, Details, Source, Tiles, Tree } from "./api";
import { Row } from "./graph";
import { count, many, moment, time } from "./format";

/** depth null: the event of that name. len -1: unknown, the pane asks for it. */
export interface Selected { row: Row; t: number; depth: number | null; name: string; len: number }
interface Open { depth: number; name: string; start: number; len: number }
export interface DetailsHooks { onSelect(s: Selected): void; onFound(s: Selected): void; onMark(from: number, to: number): void; onZoom(from: number, to: number): void; onClose(): void }
/** Facts for the pane: the begin of the row's recording and its number, markers A and B, and whether waits were recorded. */
export interface Scene { file: number; offset: number; a: number | null; b: number | null; hasStates: boolean; first: number }

const laneEnd = 512, triesMost = 40, textMost = 400;

function line(box: HTMLElement, name: string, text: string | HTMLElement): HTMLElement {
	const dd = make("dd", {}, typeof text === "string" && text.length > textMost ? `${text.slice(0, textMost)}…` : text);
	box.append(make("dt", {}, name), dd);
	return dd;
}

export class DetailsView {
	selected: Selected | null = null;
	private open: Open[] = [];
	private asked = 0;	/* number of the latest request: answers to earlier ones are dropped */

	constructor(private root: HTMLElement, private api: Api, private scene: (row: Row) => Scene, private hooks: DetailsHooks) {
		this.root.addEventListener("keydown", e => {
			if (e.key !== "Escape")
				return;
			e.stopPropagation();
			hooks.onClose();
		});
		this.forget();
	}

	forget(): void {
		this.asked++;
		this.selected = null;
		this.open = [];
		this.root.replaceChildren(this.head("Details"), this.note("Select a call or an event: click it, or a row of the list."));
	}

	private note(text: string): HTMLElement {
		return make("p", {}, text);
	}

	private head(name: string, ...buttons: HTMLButtonElement[]): HTMLElement {
		const close = button("×", "Close the details (i)", () => this.hooks.onClose());
		close.setAttribute("aria-label", "Close the details");
		return make("div", { className: "head" }, make("h2", { title: name }, name), make("div", {}, ...buttons, close));
	}

	/** Shows lines of text, for a selection that is neither a call nor an event. */
	tell(name: string, lines: [string, string][]): void {
		const box = make("dl");
		this.asked++;
		this.selected = null;
		for (const [key, text] of lines)
			line(box, key, text);
		this.root.replaceChildren(this.head(name), box);
	}

	async show(s: Selected): Promise<void> {
		const mine = ++this.asked;
		this.selected = s;
		try {
			const open = await this.openAt(s, () => mine === this.asked);
			if (mine !== this.asked)
				return;
			this.open = open;
			const call = s.depth === null ? null : open.find(o => o.depth === s.depth);
			if (call)
				Object.assign(s, { t: call.start, len: call.len, name: call.name });
			if (s.depth !== null && !call)
				return this.tell(s.name, [["call", "not found here: zoom in, and select one"]]);
			this.hooks.onFound(s);
			await this.fill(s, mine);
		} catch (e) {
			if (mine === this.asked)
				this.root.append(this.note(e instanceof Error ? e.message : String(e)));
		}
	}

	/* The thread's open calls at that moment, outermost first. For short calls the server may have to make a finer index first. */
	private async openAt(s: Selected, isWanted: () => boolean): Promise<Open[]> {
		for (let tries = 0; ; tries++) {
			const t = Math.max(0, Math.floor(s.t)), tiles = await this.api.ask<Tiles>("tiles", { from: t, to: t + 1, width: 1, rows: `${s.row.shows}:0-${laneEnd - 1}`, packed: 1 });
			if (tiles.coarse && tries < triesMost && isWanted()) {
				await new Promise(resolve => setTimeout(resolve, 150));
				continue;
			}
			const found: Open[] = [];
			for (const [depth, v] of tiles.rows[0]?.lanes ?? []) {
				let at = -1;
				for (let i = 0; depth < laneEnd && i + 4 < v.length; i += 5)
					if ((v[i] as number) <= 0 && (v[i] as number) + (v[i + 1] as number) >= 0 && v[i + 3] === 1)
						at = i;		/* if one call ends there and another begins: the latter */
				if (at >= 0)
					found.push({ depth, name: tiles.names[String(v[at + 2])] ?? "?", start: t + (v[at] as number), len: v[at + 1] as number });
			}
			found.sort((x, y) => x.depth - y.depth);
			/* a call that ended at that moment is not open any more, unless it is the selected one */
			return found.filter(o => o.start + o.len > t || o.depth <= (s.depth ?? -1));
		}
	}

	private async fill(s: Selected, mine: number): Promise<void> {
		const scene = this.scene(s.row), from = s.t - scene.offset, box = make("dl"), stack = make("ol");
		const named = { file: scene.file, tid: Number(s.row.label.replace(/.*-/, "")), from, ...s.depth === null ? { to: from + 1, name: s.name } : { to: from + s.len + 1, depth: s.depth } };
		const isCall = s.depth !== null, marks = isCall ? [button("A~B", "Mark this call from A to B (m)", () => this.hooks.onMark(s.t, s.t + s.len)), button("Zoom", "Zoom to this call (f)", () => this.hooks.onZoom(s.t, s.t + s.len))] : [];
		this.root.replaceChildren(this.head(s.name, ...marks), box);
		const begins = line(box, isCall ? "begins" : "time", moment(s.t, 1));
		for (const [name, at] of [["A", scene.a], ["B", scene.b]] as const)
			if (at !== null && at !== s.t)
				begins.append(`, ${time(Math.abs(s.t - at))} ${s.t < at ? "before" : "after"} ${name}`);
		if (isCall) {
			line(box, "ends", moment(s.t + s.len, 1));
			line(box, "duration", time(s.len));
		}
		this.showStack(s, stack);
		const waiting = make("p", {}, "…");
		this.root.append(waiting, ...this.open.length ? [this.title("Open calls"), stack] : []);
		const d = await this.api.ask<Details>("details", named);
		if (mine !== this.asked)
			return;
		waiting.remove();
		this.showDetails(box, s, d, () => void this.showWaits(box, s, named.tid, scene, mine));
		if (d.function === undefined || !d.address)
			return;
		const where = line(box, "source", "…"), source = await this.api.ask<Source>("source", named);
		where.textContent = source.found ? `${source.file}:${source.line}` : source.why ?? "not known";
	}

	private title(text: string): HTMLElement {
		return make("h3", {}, text);
	}

	/* Shows the open calls, outermost first; each can be selected. */
	private showStack(s: Selected, list: HTMLElement): void {
		for (const o of this.open) {
			const b = button(o.name, `${time(o.len)}, from ${moment(o.start, 1)}`, () => this.hooks.onSelect({ row: s.row, t: o.start, depth: o.depth, name: o.name, len: o.len }));
			if (o.depth === s.depth)
				b.setAttribute("aria-current", "true");
			list.append(make("li", {}, b));
		}
		list.setAttribute("start", String(this.open[0]?.depth ?? 0));
	}

	private showDetails(box: HTMLElement, s: Selected, d: Details, showWaits: () => void): void {
		const row = s.row;
		if (!d.found) {
			line(box, "task", row.label);
			return;
		}
		if (d.duration !== undefined && d.self !== undefined)
			line(box, "self", `${time(d.self)}${d.duration ? ` (${(100 * d.self / d.duration).toFixed(1)} %)` : ""}`);
		else if (s.depth !== null)
			line(box, "state", "it had not returned when the recording ended");
		showWaits();
		if (d.left)
			line(box, "state", "it was left without a return");
		if (d.below !== undefined && d.direct !== undefined)
			line(box, "calls", d.below > d.direct ? `${count(d.direct)}, and ${count(d.below - d.direct)} below these` : d.direct ? count(d.direct) : "none");
		for (const text of d.texts ?? []) {
			const at = text.indexOf(": ");
			line(box, at < 0 ? "data" : text.slice(0, at), at < 0 ? text : text.slice(at + 2));
		}
		if (d.parent)
			line(box, "caller", d.parent);
		for (const [name, value] of Object.entries(d.fields ?? {}))
			line(box, name, value);
		if (d.cpu !== undefined)
			line(box, "CPU", d.end_cpu !== undefined && d.end_cpu !== d.cpu ? `${d.cpu}, at its end ${d.end_cpu}` : String(d.cpu));
		line(box, "task", `${d.comm}-${d.tid}${d.pid === d.tid ? "" : `, process ${d.pid}`}${d.program && d.program !== d.comm ? ` (${d.program})` : ""}`);
		if (s.depth !== null)
			line(box, "depth", String(s.depth));
		if (d.ts !== undefined)
			line(box, "time stamp", `${(d.ts / 1e9).toFixed(9)} s`);
		if (d.linked_as)
			line(box, "linked as", d.linked_as);
		if (d.object)
			line(box, "object", `${d.object}${d.address ? `, at ${d.address}` : ""}${d.bytes ? `, ${many(d.bytes, "byte")}` : ""}`);
		if (d.stack)
			line(box, "stack", d.stack.join(" ← "));
	}

	/* Shows how long a call was without a CPU, if switches were recorded: the sums of the call tree. */
	private async showWaits(box: HTMLElement, s: Selected, tid: number, scene: Scene, mine: number): Promise<void> {
		if (s.depth === null || !scene.hasStates)
			return;
		const blocked = line(box, "blocked", "…"), runnable = line(box, "no CPU", "…"), tree = await this.api.ask<Tree>("tree", { file: scene.file, tid, from: s.t - scene.offset, to: s.t - scene.offset + s.len + 1 });
		const node = mine === this.asked ? tree.nodes.find(n => n[0] === 0 && n[1] === s.name) : undefined;
		blocked.textContent = node ? time(node[9]) : "not known";
		runnable.textContent = node ? time(node[10]) : "not known";
	}
}
