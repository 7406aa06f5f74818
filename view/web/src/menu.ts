/* SPDX-License-Identifier: MIT */
/* menu.ts - a menu at the pointer; the arrow keys and Enter choose, Escape closes it */
import { button, make } from "./make";

export interface Choice { text: string; act(): void }

export class Menu {
	private root = make("div", { id: "menu", role: "menu", hidden: true });
	private back: HTMLElement | null = null;		/* gets the focus back when the menu closes */

	constructor() {
		(document.querySelector("main") ?? document.body).append(this.root);
		document.addEventListener("pointerdown", e => { if (!this.root.contains(e.target as globalThis.Node)) this.close(); });
		this.root.addEventListener("keydown", e => this.onKey(e));
	}

	get isOpen(): boolean { return !this.root.hidden; }

	/** Opens the menu, with a line between groups. */
	open(x: number, y: number, groups: Choice[][]): void {
		const choices = groups.filter(g => g.length).flatMap((g, i) => g.map((c, j) => ({ ...c, isFirst: i > 0 && j === 0 })));
		this.back = document.activeElement as HTMLElement | null;
		this.root.replaceChildren(...choices.map(c => {
			const b = button(c.text, "", () => { this.close(); c.act(); });
			b.classList.toggle("first", c.isFirst);
			b.setAttribute("role", "menuitem");
			return b;
		}));
		this.root.hidden = !choices.length;
		this.root.style.left = `${Math.max(0, Math.min(x, innerWidth - this.root.offsetWidth - 4))}px`;
		this.root.style.top = `${Math.max(0, Math.min(y, innerHeight - this.root.offsetHeight - 4))}px`;
		(this.root.firstElementChild as HTMLElement | null)?.focus();
	}

	close(): void {
		if (this.root.hidden)
			return;
		this.root.hidden = true;
		this.back?.focus();
	}

	private onKey(e: KeyboardEvent): void {
		const items = [...this.root.children] as HTMLElement[], at = items.indexOf(document.activeElement as HTMLElement);
		e.stopPropagation();
		if (e.key === "Escape")
			this.close();
		else if (e.key === "ArrowDown" || e.key === "ArrowUp")
			items[(at + (e.key === "ArrowDown" ? 1 : items.length - 1)) % items.length]?.focus();
		else
			return;
		e.preventDefault();
	}
}
