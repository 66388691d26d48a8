/** Keeps the focus on the page when the focused element is removed. */

const LOOK_EVERY_MS = 40;
/** Number of frames to check: a closing dialog or a removed row takes some frames to lose the focus. */
const LOOKS = 10;

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;

/** Moves the focus once it is lost, which means that the browser has given it to the body. */
export function focusIfLost(next: () => HTMLElement | null | undefined, looks = LOOKS): void {
  setTimeout(() => {
    if (isLost()) next()?.focus();
    if (looks > 1) focusIfLost(next, looks - 1);
  }, LOOK_EVERY_MS);
}
