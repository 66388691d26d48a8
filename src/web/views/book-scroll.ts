/**
 * Keeps the spread of the order book in its place while rows come and go above it: in the middle until the reader
 * scrolls, and then where the reader left it. A frame that does not change the number of rows causes no layout: heights
 * are measured when the book is resized, and rows are counted.
 */
export class BookScroll {
  readonly #table: HTMLTableElement;
  readonly #scroller: HTMLElement;
  readonly #resized: ResizeObserver;
  /** Heights in pixels; the head of the table is one row. */
  #heights = { shown: 0, row: 0, spread: 0 };
  /** Empty space at the outer ends of the sides. */
  readonly #space = { above: 0, below: 0 };
  /** Distance of the spread from the upper edge; null: it is kept in the middle. */
  #distance: number | null = null;
  #target = 0;
  #placedAt = 0;

  /** @param table inside the element that scrolls; its bodies are asks, spread and bids */
  constructor(table: HTMLTableElement) {
    this.#table = table;
    this.#scroller = table.parentElement!;
    this.#scroller.addEventListener('scroll', this.#noteScroll);
    this.#resized = new ResizeObserver(() => {
      this.#measure();
      this.place();
    });
    this.#resized.observe(this.#scroller);
  }

  /** Puts the spread in its place, after the rows may have changed. */
  place(): void {
    const { shown, row, spread } = this.#heights;
    if (shown === 0) return;
    const asks = this.#rowsOf(0) * row;
    const bids = this.#rowsOf(2) * row;
    const middle = Math.round((shown + row - spread) / 2);
    // With few rows, empty space keeps the spread in the middle.
    this.#leave('above', 0, middle - row - asks);
    this.#leave('below', 2, shown - middle - spread - bids);
    const target = this.#spreadTop() - (this.#distance ?? middle);
    if (target === this.#target) return;
    this.#target = target;
    this.#scroller.scrollTop = target;
    this.#placedAt = this.#scroller.scrollTop;
  }

  end(): void {
    this.#resized.disconnect();
    this.#scroller.removeEventListener('scroll', this.#noteScroll);
  }

  #measure(): void {
    this.#heights = {
      shown: this.#scroller.clientHeight,
      row: this.#table.tHead!.offsetHeight,
      spread: this.#table.tBodies[1]!.offsetHeight,
    };
    this.#target = Number.NaN;
  }

  readonly #rowsOf = (body: number): number => this.#table.tBodies[body]!.rows.length;

  /** Sets the empty space, which the style sheet puts at the outer end of a side. */
  #leave(where: 'above' | 'below', body: number, height: number): void {
    const space = Math.max(0, height);
    if (space === this.#space[where]) return;
    this.#space[where] = space;
    this.#table.tBodies[body]!.style.setProperty('--space', `${space}px`);
  }

  #spreadTop(): number {
    return this.#heights.row * (1 + this.#rowsOf(0)) + this.#space.above;
  }

  readonly #noteScroll = (): void => {
    const { scrollTop } = this.#scroller;
    if (Math.abs(scrollTop - this.#placedAt) <= 1) return;
    this.#placedAt = scrollTop;
    this.#target = scrollTop;
    this.#distance = this.#spreadTop() - scrollTop;
  };
}
