/* SPDX-License-Identifier: MIT */
/* make.ts - make parts of the page: an element with properties and contents; a button with its action */

/** @is: properties. Roles and labels are set as attributes, because older browsers lack these properties. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, is: Partial<HTMLElementTagNameMap[K]> = {}, ...inside: (globalThis.Node | string)[]): HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(is))
		if (name === "role" || name === "ariaLabel")
			e.setAttribute(name === "role" ? "role" : "aria-label", String(value));
		else
			Reflect.set(e, name, value);
	e.append(...inside);
	return e;
}

export function button(text: string, title: string, act: () => void): HTMLButtonElement {
	const b = make("button", title ? { title } : {}, text);
	b.addEventListener("click", act);
	return b;
}
