/* SPDX-License-Identifier: MIT */
/* flame.ts - a flame graph: nodes of a tree, each as wide as its value; a click zooms to a node, the wheel scrolls to deeper ones */
import { css, fit, ink, mix } from "./format";
import { button, make } from "./make";

const rowHeight = 18;

export interface FlameNode { depth: number; name: string; value: number; colour: number; tip: string }
export interface FlameHooks { onFunction(name: string): void; onTip(text: string, x: number, y: number): void }

interface Placed { node: FlameNode; i: number; x: number; w: number }	/* shares of the whole */

export function message(root: HTMLElement, text: string): void {
	root.replaceChildren(make("div", { className: "message" }, text));
}

export function prepare(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
	const ratio = devicePixelRatio;
	canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
	canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
	const g = canvas.getContext("2d");
	g?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return g;
}

/** The sum of each node: its own value and those of all nodes below it, which follow it in the list. */
export function sums<N extends readonly [number, ...unknown[]]>(nodes: readonly N[], own: (n: N) => number): number[] {
	const out = nodes.map(own), path: number[] = [];
	nodes.forEach((n, i) => {
		path.length = n[0];
		for (const above of path)
			out[above] = (out[above] ?? 0) + own(n);
		path.push(i);
	});
	return out;
}

export class Flame {
	readonly canvas = make("canvas");
	find = "";
	isDark = false;
	placed: Placed[] = [];
	root = -1;		/* the node that fills the width */
	readonly back = button("Show all", "", () => this.zoomTo(-1));	/* visible while root is a node */
	readonly scroll = make("div");	/* its height is that of all depths: beside the canvas, in the same box */
	private nodes: FlameNode[] = [];
	private total = 1;

	constructor(box: HTMLElement, label: string, private hooks: FlameHooks) {
		this.back.hidden = true;
		this.scroll.className = "flame-scroll";
		this.scroll.setAttribute("aria-hidden", "true");
		this.scroll.append(make("div"));
		this.scroll.addEventListener("scroll", () => this.draw());
		this.canvas.addEventListener("wheel", e => { e.preventDefault(); this.scroll.scrollTop += e.deltaMode === 1 ? e.deltaY * rowHeight : e.deltaY; }, { passive: false });
		this.canvas.setAttribute("role", "img");
		this.canvas.setAttribute("aria-label", label);
		this.canvas.addEventListener("click", e => this.onClick(e));
		this.canvas.addEventListener("pointermove", e => hooks.onTip(this.at(e.offsetX, e.offsetY)?.node.tip ?? "", e.clientX, e.clientY));
		this.canvas.addEventListener("pointerleave", () => hooks.onTip("", 0, 0));
		new ResizeObserver(() => this.draw()).observe(box);
	}

	/** Shows @nodes, which are in the order of the tree; @total: the sum of those at depth 0. */
	show(nodes: FlameNode[], total: number): void {
		this.nodes = nodes;
		this.total = total || 1;
		this.root = -1;
		this.draw();
	}

	draw(): void {
		this.back.hidden = this.root < 0;
		if (!this.nodes.length || !this.canvas.isConnected)
			return;
		const g = prepare(this.canvas), w = this.canvas.clientWidth, h = this.canvas.clientHeight, find = this.find.toLowerCase();
		if (!g)
			return;
		const ground = this.isDark ? 0xff1c1714 : 0xffffffff, at: number[] = [], base = this.root >= 0 ? this.nodes[this.root] as FlameNode : null;
		const whole = base ? base.value || 1 : this.total, above = base ? base.depth : 0, top = this.scroll.scrollTop;
		let deepest = above;
		this.placed = [];
		at[above] = 0;
		g.clearRect(0, 0, w, h);
		g.font = '11px "DejaVu Sans", system-ui, sans-serif';
		for (let i = Math.max(0, this.root); i < this.nodes.length; i++) {
			const node = this.nodes[i] as FlameNode;
			if (base && i > this.root && node.depth <= above)
				break;
			const x = at[node.depth] ?? 0, width = node.value / whole, y = (node.depth - above) * rowHeight - top;
			at[node.depth] = x + width;
			at[node.depth + 1] = x;
			if (width * w < 0.6)
				continue;
			this.placed.push({ node, i, x, w: width });
			deepest = Math.max(deepest, node.depth);
			if (y > h || y <= -rowHeight)
				continue;
			const paint = find && !node.name.toLowerCase().includes(find) ? mix(ground >>> 0, node.colour, 0.22) : node.colour;
			g.fillStyle = css(paint);
			g.fillRect(x * w, y, Math.max(1, width * w - 0.5), rowHeight - 1);
			const text = fit(g, node.name, width * w - 6);
			if (text) {
				g.fillStyle = ink(paint);
				g.fillText(text, x * w + 3, y + 13);
			}
		}
		const all = `${(deepest - above + 1) * rowHeight}px`, inner = this.scroll.firstElementChild as HTMLElement;
		if (inner.style.height !== all)
			inner.style.height = all;
	}

	private zoomTo(root: number): void {
		this.root = root;
		this.scroll.scrollTop = 0;
		this.draw();
	}

	private at(x: number, y: number): Placed | null {
		const w = this.canvas.clientWidth, depth = Math.floor((y + this.scroll.scrollTop) / rowHeight) + (this.root >= 0 ? (this.nodes[this.root]?.depth ?? 0) : 0);
		return this.placed.find(p => p.node.depth === depth && x >= p.x * w && x < (p.x + p.w) * w) ?? null;
	}

	private onClick(e: MouseEvent): void {
		const p = this.at(e.offsetX, e.offsetY);
		if (p)
			this.hooks.onFunction(p.node.name);
		this.zoomTo(p && p.i !== this.root ? p.i : -1);
	}
}
