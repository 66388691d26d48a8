/** Keeps the focus on the page when what had it is gone. */

/** Time for a closing dialog, and for the drawing that removes a row, to give the focus away. */
const SETTLED_MS = 60;

/** Moves the focus if it was lost by then: the browser gives it to the body. */
export function focusIfLost(next: () => HTMLElement | null | undefined): void {
  setTimeout(() => {
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body) next()?.focus();
  }, SETTLED_MS);
}
