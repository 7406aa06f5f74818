/* SPDX-License-Identifier: MIT */
/* table.ts - rows of text below a head, with columns of fixed widths */

export interface Column { name: string; width: number }	/* width 0: what is left */

export function tableRow(columns: Column[], texts: string[], kind = ""): HTMLElement {
	const row = document.createElement("div");
	row.className = `row ${kind}`;
	texts.forEach((text, i) => {
		const span = document.createElement("span"), width = columns[i]?.width ?? 0;
		span.textContent = text;
		if (width)
			span.style.width = `${width}px`;
		else
			span.style.flex = "1";
		row.append(span);
	});
	return row;
}

export function tableHead(columns: Column[]): HTMLElement {
	return tableRow(columns, columns.map(c => c.name), "head");
}
