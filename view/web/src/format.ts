/* SPDX-License-Identifier: MIT */
/* format.ts - numbers as text, and names as colours */

const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** `1.23 ms`: three digits and the unit that fits. */
export function time(ns: number): string {
	const v = Math.abs(ns);
	for (const [size, unit] of units)
		if (v >= size) {
			const n = v / size;
			return (ns < 0 ? "-" : "") + (unit === "ns" ? n.toFixed(0) : n.toFixed(n >= 100 ? 0 : n >= 10 ? 1 : 2)) + " " + unit;
		}
	return "0";
}

/** The exact time in the form that parseTime() reads: -1500 is `-1.5us`. */
export function exactTime(ns: number): string {
	const [size, unit] = ([[1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const).find(([n]) => Math.abs(ns) >= n) ?? [1, "ns"];
	return ns ? `${ns / size}${unit}` : "0";
}

/** Reads `-1.5 ms`, or seconds, in whole ns; null: not a time, or too long. */
export function parseTime(text: string): number | null {
	const m = /^\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(ns|us|µs|ms|s|)\s*$/.exec(text), size = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, "": 1e9 }[m?.[2] ?? ""] ?? 1;
	const ns = m ? Math.round(Number(m[1]) * size) : NaN;
	return Number.isFinite(ns) && Math.abs(ns) < 1e18 ? ns || 0 : null;
}

/** A moment: seconds with as many digits as @step needs. */
export function moment(ns: number, step: number): string {
	const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(Math.max(step, 1)))));
	return (ns / 1e9).toFixed(digits) + " s";
}

export function count(n: number): string {
	return n.toLocaleString("en");
}

/** `1 event`, `2 events`. */
export function many(n: number, what: string): string { return `${count(n)} ${what}${n === 1 ? "" : "s"}`; }

export function clamp(v: number, lo: number, hi: number): number {
	return v < lo ? lo : v > hi ? hi : v;
}

/** A round step of time of at least @ns. */
export function roundStep(ns: number): number {
	const power = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
	for (const m of [1, 2, 5])
		if (m * power >= ns)
			return m * power;
	return 10 * power;
}

/**
 * Marks of a logarithmic scale of times from @lo to @hi ns, at least @apart (a share of its length) from each other: as many round times as fit. A
 * narrow scale has equal steps.
 */
export function logMarks(lo: number, hi: number, apart: number): number[] {
	const length = Math.log(hi / lo), room = (m: number[]): boolean => m.every((v, i) => !i || Math.log(v / (m[i - 1] as number)) / length >= apart);
	for (const digits of [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
		const marks: number[] = [];
		for (let power = 10 ** Math.floor(Math.log10(lo)); power <= hi; power *= 10)
			marks.push(...digits.map(d => d * power).filter(v => v >= lo && v <= hi && (v >= 10 || Number.isInteger(v))));
		if (marks.length > 2 && room(marks))
			return marks;
	}
	for (let step = roundStep((hi - lo) * Math.min(0.2, apart)); ; step = roundStep(step * 1.5)) {
		const marks: number[] = [];
		for (let v = Math.ceil(lo / step) * step; v <= hi; v += step)
			marks.push(v);
		if (room(marks) || marks.length < 3)
			return marks;
	}
}

function hash(n: number): number {
	let h = Math.imul(n + 1, 0x9e3779b1);
	h ^= h >>> 15;
	return Math.imul(h, 0x85ebca6b) >>> 0;
}

/** Hue, saturation, lightness (0..1) as 0xffBBGGRR, the order of ImageData. */
function pixel(h: number, s: number, l: number): number {
	const a = s * Math.min(l, 1 - l);
	const part = (n: number): number => {
		const k = (n + h * 12) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return (0xff000000 | part(4) << 16 | part(8) << 8 | part(0)) >>> 0;
}

function brightness(pixel: number): number {
	const light = (v: number): number => (v / 255) ** 2.2;
	return 0.2126 * light(pixel & 255) + 0.7152 * light(pixel >> 8 & 255) + 0.0722 * light(pixel >> 16 & 255);
}

/* In the dark theme no colour is darker than this; blue would be. */
const darkest = 0.2;

/** The colour of a name or a row, the same everywhere in one theme. */
export function colour(n: number, dark: boolean): number {
	const h = hash(n), hue = (h & 0xffff) / 65536, full = 0.45 + ((h >>> 16) & 15) / 60;
	let light = (dark ? 0.46 : 0.66) + ((h >>> 20) & 15) / 120, out = pixel(hue, full, light);
	while (dark && brightness(out) < darkest)
		out = pixel(hue, full, light += 0.03);
	return out;
}

/** A number for a text, so that the same function has the same colour in all views. */
export function textNumber(s: string): number {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++)
		h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return h >>> 0;
}

export function mix(a: number, b: number, share: number): number {
	const blue = a >>> 16 & 255, green = a >>> 8 & 255, red = a & 255;
	return (0xff000000 | Math.round(blue + ((b >>> 16 & 255) - blue) * share) << 16 | Math.round(green + ((b >>> 8 & 255) - green) * share) << 8 | Math.round(red + ((b & 255) - red) * share)) >>> 0;
}

export function css(pixel: number): string {
	return `rgb(${pixel & 255} ${pixel >>> 8 & 255} ${pixel >>> 16 & 255})`;
}

/** The states of threads in strips, in the words of the server: runs, runs its guest, waits for a CPU, blocked. */
export const guestState = "runs its guest";
export function stateColour(state: string, dark: boolean): number {
	return state === "runs" ? (dark ? 0xff5fae3f : 0xff45a02e) : state === "waits for a CPU" ? 0xff2a8ef0 : state === guestState ? (dark ? 0xffd0c030 : 0xffa89810) : dark ? 0xffc07a9a : 0xffb0708e;
}

/** Black or white, whichever is read better on a colour. */
export function ink(pixel: number): string { return brightness(pixel) > 0.17 ? "#111" : "#fff"; }

const widths = new Map<string, number>(), widthsMost = 20000;

/** The part of a text that fits in @room pixels in the current font; "": less than two characters. The same text always gets the same part. A function without a name (`git+0x2aaa70`) keeps its address, which tells it from others. */
export function fit(g: CanvasRenderingContext2D, text: string, room: number): string {
	if (room < 14)
		return "";
	const isCut = measured(g, text) > room, address = isCut ? /\+0x[0-9a-f]+(?=$| … )/.exec(text) : null;
	return isCut ? cut(g, address ? text.slice(address.index + 1) : text, room) : text;
}

function cut(g: CanvasRenderingContext2D, text: string, room: number): string {
	const w = measured(g, text);
	if (w <= room)
		return text;
	const n = Math.floor(text.length * (room - 11) / w * 0.97);
	return n > 1 ? text.slice(0, n) + "…" : "";
}

function measured(g: CanvasRenderingContext2D, text: string): number {
	let w = widths.get(text);
	if (w === undefined) {
		if (widths.size > widthsMost)
			widths.clear();
		w = g.measureText(text).width;
		widths.set(text, w);
	}
	return w;
}
