/* SPDX-License-Identifier: MIT */
/* api.ts - questions to the server (doc/view-api.md); while the server makes an answer, the question is repeated */

export interface Task { row: number; file: number; pid: number; tid: number; ppid: number; comm: string; lanes: number; calls: number; events: number; first: number; last: number }
export interface Drop { t: number; name: string; pid: number; calls_per_s: number; why: string }
export interface Source { path: string; offset: number; shift: number; duration: number; ncpus: number; drops: Drop[] }
export interface Info {
	state: "working" | "done" | "failed"; progress: number; path: string; bytes: number; changed: number; generation: number; error?: string; preview?: number;
	first_ns: number; duration: number; events: number; calls: number; lost: number; overwritten: number; damaged_bytes: number; complete: number;
	aligned: number; flags: number; cmdline: string; hostname: string; uname: string; resolution: number; index_bytes: number; missing: string[]; plots: string[];
	sources: Source[]; tasks: Task[];
}
/** lanes: [lane, [start, length, name, calls, fill, start ...]] with starts relative to `from`. */
export interface TileRow { row: number; lanes: [number, Float64Array][] }
export interface Tiles { state: string; from: number; to: number; pixel: number; coarse: number; matches: number; generation: number; rows: TileRow[]; names: Record<string, string> }
export interface ListRow {
	n: number; t: number; ts: number; file: number; cpu: number; flags?: string; comm: string; pid: number; tid: number; event: string; name: string; depth: number;
	duration?: number; self?: number; lost?: number; parent?: string; of_call?: number;
}
export interface List { state: string; total: number; rows: ListRow[] }
export interface RowAt { state: string; total: number; row: number }
export interface Found { state: string; row?: number; t?: number; more?: number }
/** [depth, name, calls, total, self, longest, open, blocked and runnable of self, of total] */
export type Node = [number, string, number, number, number, number, number, number, number, number, number];
export interface Tree { state: string; nodes: Node[]; total: number; left_out: number; lost: number; unknown: number }
export interface Histogram { state: string; func: string; calls: number; min: number; max: number; p50: number; p99: number; longest_t: number; longest_tid: number; longest_depth: number; longest_file: number; buckets: [number, number, number][] }

/** Details of a call, or of an event. */
export interface Details {
	state: string; found: number; name: string; function?: string; linked_as?: string; object?: string; address?: string; bytes?: number; comm: string; pid: number; tid: number;
	program?: string; ts?: number; cpu?: number; parent?: string; direct?: number; below?: number; end_cpu?: number; duration?: number; self?: number; left?: number;
	texts?: string[]; stack?: string[]; fields?: Record<string, string>;
}
export interface Source { state: string; found: number; file?: string; line?: number; why?: string }

/** Parts of equal `width` from `from` on; null: no value in the part. */
export interface Plot { state: string; from: number; width: number; count: number[]; low: (number | null)[]; mean: (number | null)[]; high: (number | null)[] }
/** [depth, name, calls in A, in B, total in A, in B, self in A, in B, blocked in A, in B, runnable in A, in B] */
export type Pair = [number, string, number, number, number, number, number, number, number, number, number, number];
export interface Diff { state: string; nodes: Pair[]; total_a: number; total_b: number; left_out: number; lost: number }
export interface Counters { state: string; counters: { field: string; track: string; count: number }[] }
export interface Exported { state: string; export: number; bytes: number; suffix: string }
export interface Files { files: string[]; formats: string[] }

export class Failed extends Error {}

interface Working { state: string; progress?: number; error?: string }

/* Reads @n spans. */
function unpackLane(of: { bytes: Uint8Array; at: number }, n: number): Float64Array {
	const v = new Float64Array(5 * n), bytes = of.bytes;
	let at = of.at, end = 0;
	for (let i = 0; i < v.length; i++) {
		let byte = bytes[at++] as number, value = byte & 127;
		for (let size = 128; byte > 127; size *= 128) {
			byte = bytes[at++] as number;
			value += (byte & 127) * size;
		}
		if (i % 5 === 0)
			value = end + (value % 2 ? -(value + 1) / 2 : value / 2);
		else if (i % 5 === 1)
			end = (v[i - 1] as number) + value;
		v[i] = value;
	}
	of.at = at;
	return v;
}

/* Reads tiles whose spans are bytes: doc/view-api.md. */
function unpack(buffer: ArrayBuffer): unknown {
	const bytes = new Uint8Array(buffer, 4, new DataView(buffer).getUint32(0, true));
	const tiles = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4 + bytes.length))) as { rows: { row: number; lanes: [number, number | Float64Array][] }[] };
	const of = { bytes, at: 0 };
	for (const row of tiles.rows)
		for (const lane of row.lanes)
			lane[1] = unpackLane(of, lane[1] as number);
	return tiles;
}

export class Api {
	file: number | "all" = 0;
	shift: number[] = [];	/* ns to add to the times of each recording, if all are shown on one clock */
	busy = 0;		/* questions without an answer */

	shiftOf(file: number): number { return this.file === "all" ? this.shift[file] ?? 0 : 0; }

	get hasShift(): boolean { return this.shift.some(ns => ns); }

	async once<T>(what: string, args: Record<string, string | number>, signal?: AbortSignal | null): Promise<T> {
		const query = new URLSearchParams({ file: String(this.file) });
		if (this.file === "all" && this.hasShift)
			query.set("shift", this.shift.join());
		for (const [k, v] of Object.entries(args))
			query.set(k, String(v));
		const method = what === "reload" ? "POST" : "GET";
		const answer = await fetch(`api/${what}?${query}`, { method, signal: signal ?? null });
		const body = (answer.headers.get("Content-Type") === "application/octet-stream" ? unpack(await answer.arrayBuffer()) : await answer.json()) as T & Working;
		if (body.state === "failed" && what !== "info")
			throw new Failed(body.error ?? "the server has no answer");
		return body;
	}

	/** Repeats the question until the answer is made; calls @onProgress with the progress. */
	async ask<T>(what: string, args: Record<string, string | number>, signal?: AbortSignal | null, onProgress?: (part: number) => void): Promise<T> {
		this.busy++;
		try {
			for (let wait = 20; ; wait = Math.min(400, wait * 1.6)) {
				const body = await this.once<T & Working>(what, args, signal);
				if (body.state !== "working")
					return body;
				onProgress?.(body.progress ?? 0);
				await new Promise(resolve => setTimeout(resolve, wait));
			}
		} finally {
			this.busy--;
		}
	}
}
