/* SPDX-License-Identifier: MIT */
/* table.ts - rows of text below a head, with columns of fixed widths */
import { make } from "./make";

export interface Column { name: string; width: number; isText?: boolean }	/* width 0: the rest of the width, for a text; other columns are numbers, aligned to the right */

export function tableRow(columns: Column[], texts: string[], kind = ""): HTMLElement {
	const row = make("div", { className: `row ${kind}` });
	texts.forEach((text, i) => {
		const span = make("span", {}, text), { width = 0, isText = false } = columns[i] ?? {};
		if (width)
			span.style.width = `${width / 12}em`;	/* for text of 12 pixels */
		else
			span.style.flex = "1";
		if (width && !isText)
			span.className = "number";
		row.append(span);
	});
	return row;
}

export function tableHead(columns: Column[]): HTMLElement {
	return tableRow(columns, columns.map(c => c.name), "head");
}
