/* SPDX-License-Identifier: MIT */
/*
 * values.ts - a row of the graph that shows a value over time: a counter, a field of events, or durations of calls
 *
 * The server cuts a part of the recording into equal pieces (api/plot). Parts begin and end at multiples of half a power of two of the visible time,
 * so that one answer serves for a while when the view moves. A counter keeps its value until the next one; durations are bars, on a logarithmic
 * scale.
 */
import { Api, Plot } from "./api";
import { clamp, count, time } from "./format";

const pieces = 4096, wait = 120;

/** The plotted value, as in the address: `fFUNCTION`, `f` for all calls, `eEVENT.FIELD`, or `eEVENT.FIELD\nTRACK`. */
export function labelOf(spec: string): string {
	const [field = "", track] = spec.slice(1).split("\n");
	return spec[0] === "f" ? `${field || "all calls"}, duration` : track ?? field;
}

export class Values {
	readonly label: string;
	private plot: Plot | null = null;
	private plotOf = "";
	private timer = 0;
	private failed = "";

	constructor(readonly spec: string, private api: Api, private onChange: () => void) { this.label = labelOf(spec); }

	/** The name that decides the colour: for durations the function, as in other views. */
	get name(): string { return this.isTime ? this.spec.slice(1) : this.label; }
	get isTime(): boolean { return this.spec[0] === "f"; }
	get isPending(): boolean { return this.timer !== 0; }

	/** Requests the values from @from to @to, after a while without another request. */
	want(from: number, to: number): void {
		const half = 2 ** Math.ceil(Math.log2(Math.max(64, to - from))) / 2, w = (to - from) / 4;
		const lo = Math.max(0, Math.floor((from - w) / half) * half), hi = Math.max(lo + half, Math.ceil((to + w) / half) * half), of = `${this.api.file}|${lo}|${hi}`;
		if (of === this.plotOf)
			return;
		this.plotOf = of;
		clearTimeout(this.timer);
		this.timer = window.setTimeout(() => void this.load(of, lo, hi), wait);
	}

	private async load(of: string, from: number, to: number): Promise<void> {
		const args: Record<string, string | number> = { from, to, width: pieces }, [what = "", track] = this.spec.slice(1).split("\n");
		if (this.isTime)
			args["func"] = what;
		else
			args["field"] = what;
		if (track !== undefined)
			args["track"] = track;
		try {
			const plot = await this.api.ask<Plot>("plot", args);
			if (of !== this.plotOf)
				return;
			this.plot = plot;
			this.failed = "";
		} catch (e) {
			this.failed = e instanceof Error ? e.message : String(e);
		}
		this.timer = 0;
		this.onChange();
	}

	forget(): void { this.plotOf = ""; this.plot = null; }

	private text(v: number): string { return this.isTime ? time(v) : count(Math.round(v * 1000) / 1000); }

	/* The piece with @t in it; -1: there is none. */
	private pieceAt(t: number): number {
		const p = this.plot, i = p ? Math.floor((t - p.from) / p.width) : -1;
		return p && i >= 0 && i < p.count.length ? i : -1;
	}

	/** The value at @t; of a counter the last value before it. */
	at(t: number): string {
		const p = this.plot;
		let i = this.pieceAt(t);
		if (!p || i < 0)
			return this.failed;
		while (!this.isTime && i > 0 && !p.count[i])
			i--;
		const low = p.low[i] ?? null, mean = p.mean[i] ?? null, high = p.high[i] ?? null, n = p.count[i] ?? 0;
		if (mean === null || high === null || low === null)
			return this.isTime ? "no call ends here" : "nothing yet";
		if (n === 1 || low === high)
			return this.text(high);
		return `${this.text(low)} to ${this.text(high)}, mean ${this.text(mean)}, ${count(n)} ${this.isTime ? "calls" : "values"}`;
	}

	/* The scale of the visible values, with 0 in it. */
	private scale(first: number, last: number): [number, number] {
		const p = this.plot as Plot;
		let lo = 0, hi = 0;
		for (let i = first; i <= last; i++) {
			lo = Math.min(lo, p.low[i] ?? 0);
			hi = Math.max(hi, p.high[i] ?? 0);
		}
		return [lo, hi > lo ? hi : lo + 1];
	}

	/** Draws the row: its time from @from on, @x0 to @x1, and its scale at @x0. */
	draw(g: CanvasRenderingContext2D, from: number, to: number, x0: number, x1: number, y: number, h: number, stroke: string, dim: string): void {
		const p = this.plot, x = (t: number): number => x0 + (t - from) / (to - from) * (x1 - x0);
		g.fillStyle = dim;
		if (!p) {
			g.fillText(this.failed || "…", x0 + 4, y + h / 2 + 4);
			return;
		}
		const first = clamp(Math.floor((from - p.from) / p.width), 0, p.count.length - 1), last = clamp(Math.ceil((to - p.from) / p.width), first, p.count.length - 1);
		const [lo, hi] = this.scale(first, last), log = Math.log(hi + 1);
		const up = (v: number): number => y + h - h * (this.isTime ? Math.log(Math.max(0, v) + 1) / log : (v - lo) / (hi - lo));
		g.fillStyle = g.strokeStyle = stroke;
		if (this.isTime)
			this.drawBars(g, p, first, last, x, up);
		else
			this.drawSteps(g, p, first, last, x, up, lo);
		g.globalAlpha = 1;
		g.fillStyle = dim;
		g.fillText(this.text(hi), x0 + 4, y + 10);
	}

	private drawBars(g: CanvasRenderingContext2D, p: Plot, first: number, last: number, x: (t: number) => number, up: (v: number) => number): void {
		const floor = up(0);
		for (let i = first; i <= last; i++) {
			const mean = p.mean[i], high = p.high[i];
			if (typeof mean !== "number" || typeof high !== "number")
				continue;
			const at = x(p.from + i * p.width), w = Math.max(1, x(p.from + (i + 1) * p.width) - at);
			g.globalAlpha = 0.35;
			g.fillRect(at, up(high), w, Math.max(1, floor - up(high)));
			g.globalAlpha = 1;
			g.fillRect(at, up(mean), w, Math.max(1, floor - up(mean)));
		}
	}

	private drawSteps(g: CanvasRenderingContext2D, p: Plot, first: number, last: number, x: (t: number) => number, up: (v: number) => number, lo: number): void {
		const floor = up(Math.max(0, lo));
		let before = first;
		while (before > 0 && !p.count[before])
			before--;
		let value = p.mean[before] ?? null, since = x(p.from + before * p.width);
		const step = (to: number): void => {
			if (value === null)
				return;
			g.globalAlpha = 0.3;
			g.fillRect(since, Math.min(floor, up(value)), to - since, Math.abs(floor - up(value)));
			g.globalAlpha = 1;
			g.fillRect(since, up(value) - 1, Math.max(1, to - since), 1.5);
		};
		for (let i = before + 1; i <= last; i++) {
			const mean = p.mean[i], high = p.high[i], low = p.low[i];
			if (typeof mean !== "number" || typeof high !== "number" || typeof low !== "number")
				continue;
			const at = x(p.from + i * p.width);
			step(at);
			g.fillRect(at, up(high), 1, Math.max(1, up(low) - up(high)));
			value = mean;
			since = at;
		}
		step(x(p.from + (last + 1) * p.width));
	}
}
