/* SPDX-License-Identifier: MIT */
/* plot.ts - values over the visible time: the rate and the durations of calls, or a field of an event */
import uPlot from "uplot";
import { Api, Plot } from "./api";
import { message } from "./flame";
import { count, moment, time } from "./format";
import { button, make } from "./make";

const top = 36;

export interface PlotHooks { onRange(from: number, to: number): void; onTime(t: number): void }

/* Shortens numbers of a million and more, which have no room beside an axis. */
function short(n: number): string {
	return n < 1e5 ? count(n) : n < 1e8 ? `${+(n / 1e6).toFixed(2)} M` : `${+(n / 1e9).toFixed(2)} G`;
}

/** Only decades of a logarithmic axis have a number, as many of them as there is room for. */
function decades(u: uPlot, marks: number[]): (number | null)[] {
	const power = (v: number): number => Math.round(Math.log10(v)), isDecade = (v: number): boolean => Math.abs(Math.log10(v) - power(v)) < 1e-6;
	const every = Math.max(1, Math.ceil(marks.filter(isDecade).length * 16 * devicePixelRatio / Math.max(1, u.bbox.height)));

	return marks.map(v => isDecade(v) && power(v) % every === 0 ? v : null);
}

export class PlotView {
	func = "";
	filter = "";
	private chart: uPlot | null = null;
	private plotOf = "";
	private box = make("div", { className: "chart" });
	private what = make("select", { ariaLabel: "Value to plot" });
	private legend = make("span", { className: "series" });

	constructor(private root: HTMLElement, private api: Api, private hooks: PlotHooks, private onChoice: () => void, onRow: (spec: string) => void) {
		this.what.addEventListener("change", () => this.onChoice());
		const row = button("Add as a row", "Show this in the graph, above the tasks", () => {
			const what = this.what.value;
			onRow(what === "func" ? `f${this.func}` : what === "all" ? "f" : what);
		});
		root.append(make("div", { className: "bar-of-fields" }, "plot ", this.what, " ", row, this.legend), this.box);
		new ResizeObserver(() => this.chart?.setSize(this.size())).observe(root);
	}

	setChoices(fields: string[]): void {
		const kept = this.what.value;
		this.what.replaceChildren(new Option("calls of the selected function, or of all", "func"), new Option("all calls", "all"), ...fields.map(f => new Option(f, `e${f}`)));
		this.what.value = kept;
		if (!this.what.value)
			this.what.value = "func";
	}

	/** The plotted value, unless it is the selected function. */
	get choice(): string { return this.what.value === "func" ? "" : this.what.value; }
	set choice(what: string) { this.what.value = what || "func"; if (!this.what.value) this.what.value = "func"; }

	forget(): void { this.plotOf = ""; }
	redraw(): void { this.forget(); this.chart?.destroy(); this.chart = null; }

	private size(): { width: number; height: number } {
		return { width: Math.max(200, this.root.clientWidth - 12), height: Math.max(60, this.root.clientHeight - top) };
	}

	async load(from: number, to: number, tid: number): Promise<void> {
		const what = this.what.value === "func" && !this.func ? "all" : this.what.value, ofFunction = this.what.options[0];
		if (ofFunction)
			ofFunction.text = this.func ? `calls of ${this.func}` : "calls of the selected function, or of all";
		const width = Math.max(50, Math.min(2000, Math.floor(this.root.clientWidth / 2))), { filter } = this, of = [filter, this.api.file, from, to, tid, what, what === "func" ? this.func : "", width].join("|");
		if (of === this.plotOf)
			return;
		this.plotOf = of;
		if (!this.chart)
			message(this.box, "adding up …");
		try {
			const args: Record<string, string | number> = { from, to, tid, width, filter };
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
		this.legend.replaceChildren();
		message(this.box, text);
	}

	private draw(p: Plot, what: string): void {
		const style = getComputedStyle(document.documentElement), css = (name: string): string => style.getPropertyValue(name).trim();
		const isTime = what === "func" || what === "all", seconds = p.width / 1e9, value = (v: number | null): string => v === null ? "" : isTime ? time(v) : count(v);
		const axis = { stroke: css("--dim"), grid: { stroke: css("--line"), width: 0.5 }, ticks: { stroke: css("--line"), width: 0.5 } };
		const line = (colour: string): uPlot.Series => ({ scale: "value", stroke: colour, width: 1.2, spanGaps: false, points: { show: true, size: 3 } });
		const all = p.count.reduce((sum, n) => sum + n, 0), most = p.high.reduce((a, v) => v === null || (a !== null && a > v) ? a : v, null), mean = p.mean.reduce<number>((sum, v, i) => sum + (v ?? 0) * (p.count[i] ?? 0) / (all || 1), 0);
		/* Shows the meaning of the colours with the values of the whole, or those at the pointer. */
		const tell = (i: number | null | undefined): void => this.legend.replaceChildren(...([
			["--dim", isTime ? "calls" : "events", typeof i === "number" ? `${count(Math.round((p.count[i] ?? 0) / seconds))}/s` : count(all)],
			["--bad", isTime ? "longest" : "greatest", value(typeof i === "number" ? p.high[i] ?? null : most)],
			["--mark", "mean", value(typeof i === "number" ? p.mean[i] ?? null : Number(mean.toPrecision(6)))],
			["", "at", typeof i === "number" ? `${((p.from + i * p.width) / 1e9).toFixed(6)} s` : ""],
		] as const).flatMap(([colour, name, text]) => {
			if (!colour && !text)
				return [];
			const chip = make("i");
			chip.style.background = colour ? `var(${colour})` : "none";
			return [chip, `${name} ${text || "-"}`];
		}));
		const options: uPlot.Options = {
			...this.size(),
			legend: { show: false },
			scales: { x: { time: false }, rate: { range: (_u, _lo, hi) => [0, (hi || 1) * 1.05] }, value: isTime ? { distr: 3 } : {} },
			padding: [10, 4, 0, 0],
			axes: [{ ...axis, size: 28, space: 110, values: (_u, v) => v.map(t => moment(t * 1e9, ((v[1] ?? 1) - (v[0] ?? 0)) * 1e9)) }, { ...axis, scale: "rate", size: 70, values: (_u, v) => v.map(n => `${short(n)}/s`) }, { ...axis, scale: "value", side: 1, size: 80, grid: { show: false }, ...(isTime ? { filter: decades, ticks: { show: false } } : {}), values: (_u, v) => v.map(value) }],
			series: [
				{},
				{ scale: "rate", stroke: css("--dim"), fill: `color-mix(in srgb, ${css("--dim")} 25%, transparent)`, width: 1, points: { show: false }, paths: uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder },
				line(css("--bad")), line(css("--mark")),
			],
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setCursor: [u => tell(u.cursor.idx)],
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
			return this.say(isTime ? "No call of the function ends in this part." : "No such event in this part.");
		this.chart = new uPlot(options, data, this.box);
		tell(null);
		this.chart.ctx.canvas.setAttribute("role", "img");
		this.chart.ctx.canvas.setAttribute("aria-label", `Plot of ${this.what.selectedOptions[0]?.text ?? "values"} over time`);
		this.chart.over.addEventListener("click", () => {
			const left = this.chart?.cursor.left;
			if (left !== undefined && left >= 0)
				this.hooks.onTime((this.chart as uPlot).posToVal(left, "x") * 1e9);
		});
	}
}
