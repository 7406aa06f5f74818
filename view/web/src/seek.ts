/* SPDX-License-Identifier: MIT */
/* seek.ts - step from one call or event to the next: by text, function or task; the server searches the events that the filter shows */
import { Api, Found, List, ListRow, RowAt, Task } from "./api";
import { Hit, Row } from "./graph";

/** The selection in the graph; a function that was chosen without a call; the row of the task; marker A; the row of the list, -1: none. */
interface Selected { hit: Hit | null; name: string; row: Row | null; t: number; at: number }
export interface SeekHooks {
	filter(): string; selected(): Selected; taskOf(row: Row): Task | undefined; rowOf(r: ListRow): Row | undefined;
	onNotice(text: string): void; onFound(row: number, r: ListRow): void;	/* "": the notice is outdated */
}

export class Seeker {
	private asked = 0;	/* number of the latest request: answers to earlier ones are dropped */

	constructor(private api: Api, private hooks: SeekHooks) {}

	/** Finds the next row of the list behind @from, or before it, that is @wanted. null: there is none, and a notice tells so; or another request followed. */
	async seek(what: string, wanted: Record<string, string | number>, from: number, back: boolean): Promise<{ row: number; t: number } | null> {
		const mine = ++this.asked, filter = this.hooks.filter(), slow = setTimeout(() => this.hooks.onNotice(`Looking for ${what} …`), 300);
		try {
			for (let at = Math.max(0, from); ;) {
				const { row, t, more } = await this.api.ask<Found>("search", { ...wanted, filter, from: at, back: back ? 1 : 0 });
				if (mine !== this.asked)
					return null;
				if (row !== undefined && t !== undefined) {
					this.hooks.onNotice("");
					return { row, t };
				}
				if (more === undefined) {
					this.hooks.onNotice(`${what} is not found ${back ? "before" : "after"} this event${filter ? ", among those that the filter shows" : ""}.`);
					return null;
				}
				at = more;
			}
		} catch (e) {
			this.hooks.onNotice(e instanceof Error ? e.message : String(e));
			return null;
		} finally {
			clearTimeout(slow);
		}
	}

	/** Steps to the next call, in any task, of the function of the selected call, or of the chosen function; in the order of their ends. */
	async stepCall(back: boolean): Promise<void> {
		const { hit, name: chosen, t } = this.hooks.selected(), p = hit?.kind === "call" && !hit.row.isCpu && hit.calls === 1 ? hit : null, name = p?.name ?? chosen;
		if (!name)
			return this.hooks.onNotice("Select a call first: a click on it, or on a function of the flame graph.");
		await this.step(`A call of ${name}`, { call: name }, p ? p.start + p.len : t, back, r => !!p && r.t - (r.duration ?? 0) === p.start && r.depth === p.lane && this.hooks.rowOf(r)?.key === p.row.shows);
	}

	/** Steps to the next or previous event of the task of the selection. */
	async stepEvent(back: boolean): Promise<void> {
		const { row, t, at } = this.hooks.selected(), task = row && this.hooks.taskOf(row);
		if (!task)
			return this.hooks.onNotice("Select a call or an event of a task first: a click on it.");
		await this.step(`An event of ${task.comm}-${task.tid}`, { tid: task.tid, ...this.api.file === "all" ? { source: task.file } : {} }, t, back, r => r.n === at);
	}

	/* Searches from time @t on, or before it; @isSame: the row is the present one, which is skipped. */
	private async step(what: string, wanted: Record<string, string | number>, t: number, back: boolean, isSame: (r: ListRow) => boolean): Promise<void> {
		const filter = this.hooks.filter(), { at } = this.hooks.selected();
		try {
			let from = "tid" in wanted && at >= 0 ? at : (await this.api.ask<RowAt>("row_at", { filter, t: Math.max(0, Math.round(t)) })).row - (back ? 0 : 1);
			for (;;) {
				const found = await this.seek(what, wanted, from, back), r = found && (await this.api.ask<List>("list", { filter, first: found.row, count: 1 })).rows[0];
				if (!found || !r)
					return;
				if (!isSame(r))
					return this.hooks.onFound(found.row, r);
				from = found.row;
			}
		} catch (e) {
			this.hooks.onNotice(e instanceof Error ? e.message : String(e));
		}
	}
}
