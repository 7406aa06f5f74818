/* SPDX-License-Identifier: MIT */
/* button.ts - a button of the page: its words, what its tip says, and what it does */

export function button(text: string, title: string, act: () => void): HTMLButtonElement {
	const b = document.createElement("button");
	b.textContent = text;
	if (title)
		b.title = title;
	b.addEventListener("click", act);
	return b;
}
