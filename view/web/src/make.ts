/* SPDX-License-Identifier: MIT */
/* make.ts - parts of the page: an element with what it is and what it has inside; a button with what it does */

/** @is: properties; of roles and labels the attributes are set, because older browsers lack the properties. */
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
