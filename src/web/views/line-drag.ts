/** Lets the reader drag horizontal lines of a drawing with a mouse, a finger or a pen. Escape ends it without effect. */

interface Draggable<Line> {
  /** Returns the line within reach of a height, pixels from the top of the drawing. */
  lineAt(y: number): Line | undefined;
  /** Called when a drag begins and ends, so that the drawing does not scroll meanwhile. */
  lock(isDragged: boolean): void;
  /** Shows a line at a height; null shows it at its own price. */
  show(line: Line, y: number | null): void;
  /** Takes the line that was dropped at a height. The line stays there until it settles. */
  drop(line: Line, y: number): Promise<void>;
}

/** Least movement of a drag, in pixels: less is a click. */
const LEAST = 3;

/** @returns a function that ends it */
export function dragLines<Line>(element: HTMLElement, lines: Draggable<Line>): () => void {
  const listeners = new AbortController();
  let held: { readonly line: Line; readonly pointer: number; readonly from: number } | null = null;
  const heightOf = (event: PointerEvent): number => event.clientY - element.getBoundingClientRect().top;
  const end = (): void => {
    if (held === null) return;
    lines.show(held.line, null);
    lines.lock(false);
    held = null;
  };
  const on = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    listen: (event: HTMLElementEventMap[Name]) => void,
  ): void => element.addEventListener(name, listen, { capture: true, signal: listeners.signal });
  on('pointerdown', (event) => {
    const line = event.button === 0 ? lines.lineAt(heightOf(event)) : undefined;
    if (line === undefined) return;
    held = { line, pointer: event.pointerId, from: heightOf(event) };
    lines.lock(true);
    element.setPointerCapture(event.pointerId);
  });
  on('pointermove', (event) => {
    if (held === null) {
      element.toggleAttribute('data-grab', lines.lineAt(heightOf(event)) !== undefined);
    } else if (event.pointerId === held.pointer) lines.show(held.line, heightOf(event));
  });
  on('pointerup', (event) => {
    if (held === null || event.pointerId !== held.pointer) return;
    const { line, from } = held;
    if (Math.abs(heightOf(event) - from) < LEAST) return end();
    held = null;
    lines.lock(false);
    void lines.drop(line, heightOf(event)).finally(() => lines.show(line, null));
  });
  on('pointercancel', end);
  addEventListener('keydown', ({ key }) => key === 'Escape' && end(), { signal: listeners.signal });
  return () => listeners.abort();
}
