/* SPDX-License-Identifier: MIT */
/* plot.ts - values over the time that is in view: how often and how long calls are, or a field of an event */
import uPlot from "uplot";
import { Api, Plot } from "./api";
import { message } from "./flame";
import { count, time } from "./format";

const top = 34, legend = 34, legendFrom = 190;	/* lower ones have no room for it */

export interface PlotHooks { onRange(from: number, to: number): void; onTime(t: number): void }

/* A million and more has no room beside an axis. */
function short(n: number): string {
	return n < 1e5 ? count(n) : n < 1e8 ? `${+(n / 1e6).toFixed(2)} M` : `${+(n / 1e9).toFixed(2)} G`;
}

/** Of the marks of a logarithmic axis the decades have a number, or as many of them as there is room for. */
function decades(u: uPlot, marks: number[]): (number | null)[] {
	const power = (v: number): number => Math.round(Math.log10(v)), isDecade = (v: number): boolean => Math.abs(Math.log10(v) - power(v)) < 1e-6;
	const every = Math.max(1, Math.ceil(marks.filter(isDecade).length * 16 * devicePixelRatio / Math.max(1, u.bbox.height)));

	return marks.map(v => isDecade(v) && power(v) % every === 0 ? v : null);
}

export class PlotView {
	func = "";
	private chart: uPlot | null = null;
	private plotOf = "";
	private box = document.createElement("div");
	private what = document.createElement("select");

	constructor(private root: HTMLElement, private api: Api, private hooks: PlotHooks, private onChoice: () => void, onRow: (spec: string) => void) {
		const bar = document.createElement("div");
		bar.className = "bar-of-fields";
		this.box.className = "chart";
		this.what.setAttribute("aria-label", "What is plotted");
		this.what.addEventListener("change", () => this.onChoice());
		const row = document.createElement("button");
		row.textContent = "Add as a row";
		row.title = "Show this in the graph, above the tasks";
		row.addEventListener("click", () => {
			const what = this.what.value;
			onRow(what === "func" ? `f${this.func}` : what === "all" ? "f" : what);
		});
		bar.append("plot ", this.what, " ", row);
		root.append(bar, this.box);
		new ResizeObserver(() => this.chart?.setSize(this.size())).observe(root);
	}

	setChoices(fields: string[]): void {
		const kept = this.what.value;
		this.what.replaceChildren(new Option("calls of the selected function, or of all", "func"), new Option("all calls", "all"), ...fields.map(f => new Option(f, `e${f}`)));
		this.what.value = kept;
		if (!this.what.value)
			this.what.value = "func";
	}

	/** What is plotted, if it is not the selected function. */
	get choice(): string { return this.what.value === "func" ? "" : this.what.value; }
	set choice(what: string) { this.what.value = what || "func"; if (!this.what.value) this.what.value = "func"; }

	forget(): void { this.plotOf = ""; }
	redraw(): void { this.forget(); this.chart?.destroy(); this.chart = null; }

	private get hasLegend(): boolean { return this.root.clientHeight >= legendFrom; }

	private size(): { width: number; height: number } {
		return { width: Math.max(200, this.root.clientWidth - 12), height: Math.max(60, this.root.clientHeight - top - (this.hasLegend ? legend : 0)) };
	}

	async load(from: number, to: number, tid: number): Promise<void> {
		const what = this.what.value === "func" && !this.func ? "all" : this.what.value;
		const width = Math.max(50, Math.min(2000, Math.floor(this.root.clientWidth / 2))), of = [this.api.file, from, to, tid, what, what === "func" ? this.func : "", width].join("|");
		if (of === this.plotOf)
			return;
		this.plotOf = of;
		try {
			const args: Record<string, string | number> = { from, to, tid, width };
			if (what === "func")
				args["func"] = this.func;
			else if (what !== "all")
				args["field"] = what.slice(1);
			const plot = await this.api.ask<Plot>("plot", args);
			if (of === this.plotOf)
				this.draw(plot, what);
		} catch (e) {
			this.plotOf = "";
			this.say(e instanceof Error ? e.message : String(e));
		}
	}

	private say(text: string): void {
		this.chart?.destroy();
		this.chart = null;
		this.plotOf = "";
		message(this.box, text);
	}

	private draw(p: Plot, what: string): void {
		const style = getComputedStyle(document.documentElement), css = (name: string): string => style.getPropertyValue(name).trim();
		const isTime = what === "func" || what === "all", seconds = p.width / 1e9, value = (v: number | null): string => v === null ? "" : isTime ? time(v) : count(v);
		const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 0.5 }, ticks: { stroke: css("--line"), width: 0.5 } };
		const line = (label: string, colour: string): uPlot.Series => ({ label, scale: "value", stroke: colour, width: 1.2, spanGaps: false, value: (_u, v) => value(v), points: { show: true, size: 3 } });
		const options: uPlot.Options = {
			...this.size(),
			legend: { show: this.hasLegend },
			scales: { x: { time: false }, rate: { range: (_u, _lo, hi) => [0, (hi || 1) * 1.05] }, value: isTime ? { distr: 3 } : {} },
			axes: [{ ...axis, space: 110, values: (_u, v) => v.map(t => `${+t.toFixed(9)} s`) }, { ...axis, scale: "rate", size: 70, values: (_u, v) => v.map(n => `${short(n)}/s`) }, { ...axis, scale: "value", side: 1, size: 80, grid: { show: false }, ...(isTime ? { filter: decades, ticks: { show: false } } : {}), values: (_u, v) => v.map(value) }],
			series: [
				{ label: "time", value: (_u, v) => v === null ? "" : `${v.toFixed(9)} s` },
				{ label: isTime ? "calls" : "events", scale: "rate", stroke: css("--dim"), fill: `color-mix(in srgb, ${css("--dim")} 25%, transparent)`, width: 1, value: (_u, v) => v === null ? "" : `${count(Math.round(v))}/s`, points: { show: false }, paths: uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder },
				line(isTime ? "longest" : "greatest", css("--bad")), line("mean", css("--mark")),
			],
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setSelect: [u => {
					if (u.select.width > 3)
						this.hooks.onRange(u.posToVal(u.select.left, "x") * 1e9, u.posToVal(u.select.left + u.select.width, "x") * 1e9);
					u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				}],
			},
		};
		/* A logarithmic scale has no place for 0 ns. */
		const above = (v: number | null): number | null => v === null ? null : isTime ? Math.max(1, v) : v;
		const data: uPlot.AlignedData = [p.count.map((_c, i) => (p.from + i * p.width) / 1e9), p.count.map(c => c / seconds), p.high.map(above), p.mean.map(above)];
		this.chart?.destroy();
		this.box.replaceChildren();
		if (!p.count.some(c => c))
			return this.say(isTime ? "No call of it ends here." : "No such event here.");
		this.chart = new uPlot(options, data, this.box);
		this.chart.ctx.canvas.setAttribute("role", "img");
		this.chart.ctx.canvas.setAttribute("aria-label", `Plot of ${this.what.selectedOptions[0]?.text ?? "values"} over time`);
		this.chart.over.addEventListener("click", () => {
			const left = this.chart?.cursor.left;
			if (left !== undefined && left >= 0)
				this.hooks.onTime((this.chart as uPlot).posToVal(left, "x") * 1e9);
		});
	}
}
