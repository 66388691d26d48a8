/** Keeps the focus on the page when what had it is gone. */

const LOOK_EVERY_MS = 40;
/** A closing dialog and the drawing that removes a row take some frames until the focus is lost. */
const LOOKS = 10;

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;

/** Moves the focus once it is lost, which the browser shows by giving it to the body. */
export function focusIfLost(next: () => HTMLElement | null | undefined, looks = LOOKS): void {
  setTimeout(() => {
    if (isLost()) next()?.focus();
    if (looks > 1) focusIfLost(next, looks - 1);
  }, LOOK_EVERY_MS);
}
