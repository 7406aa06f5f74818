/* SPDX-License-Identifier: MIT */
/* table.ts - rows of text below a head, with columns of fixed widths */

export interface Column { name: string; width: number; isEnd?: boolean }	/* width 0: what is left; isEnd: its end is seen if it has no room */

export function tableRow(columns: Column[], texts: string[], kind = ""): HTMLElement {
	const row = document.createElement("div");
	row.className = `row ${kind}`;
	texts.forEach((text, i) => {
		const span = document.createElement("span"), width = columns[i]?.width ?? 0;
		if (columns[i]?.isEnd) {
			const bdi = document.createElement("bdi");
			bdi.textContent = text;
			span.className = "end";
			span.append(bdi);
		} else {
			span.textContent = text;
		}
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
