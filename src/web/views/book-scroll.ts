const heightOfRows = ({ rows }: HTMLTableSectionElement): number =>
  rows.length * (rows[0]?.offsetHeight ?? 0);

/**
 * Keeps the spread of the order book in its place while rows come and go above it: in the middle until the reader
 * scrolls, and then where the reader left it.
 */
export class BookScroll {
  readonly #table: HTMLTableElement;
  readonly #scroller: HTMLElement;
  readonly #resized: ResizeObserver;
  /** Distance of the spread from the upper edge; null: it is kept in the middle. */
  #distance: number | null = null;
  #placedAt = 0;

  /** @param table inside the element that scrolls; its second body is the spread */
  constructor(table: HTMLTableElement) {
    this.#table = table;
    this.#scroller = table.parentElement!;
    this.#scroller.addEventListener('scroll', this.#noteScroll);
    this.#resized = new ResizeObserver(() => this.place());
    this.#resized.observe(this.#scroller);
  }

  /** Puts the spread in its place. Rows have one fixed height, so that this is called after each change of them. */
  place(): void {
    const { clientHeight } = this.#scroller;
    const [asks, spread, bids] = this.#table.tBodies;
    if (clientHeight === 0 || asks === undefined || spread === undefined || bids === undefined) return;
    const headHeight = this.#table.tHead!.offsetHeight;
    const middle = Math.round((clientHeight + headHeight - spread.offsetHeight) / 2);
    // Few rows still leave the spread in the middle.
    const below = clientHeight - middle - spread.offsetHeight;
    this.#space('above', middle - headHeight - heightOfRows(asks));
    this.#space('below', below - heightOfRows(bids));
    this.#scroller.scrollTop = this.#spreadTop() - (this.#distance ?? middle);
    this.#placedAt = this.#scroller.scrollTop;
  }

  /** The style sheet puts the space at the outer end of a side. */
  #space(where: 'above' | 'below', height: number): void {
    this.#table.style.setProperty(`--space-${where}`, `${Math.max(0, height)}px`);
  }

  /** The spread goes back to the middle, and stays there. */
  centre(): void {
    this.#distance = null;
    this.place();
  }

  end(): void {
    this.#resized.disconnect();
    this.#scroller.removeEventListener('scroll', this.#noteScroll);
  }

  /** Not of the spread itself: its row sticks to the edges. */
  #spreadTop(): number {
    const asks = this.#table.tBodies[0]!;
    return this.#table.offsetTop + asks.offsetTop + asks.offsetHeight;
  }

  readonly #noteScroll = (): void => {
    const { scrollTop } = this.#scroller;
    if (Math.abs(scrollTop - this.#placedAt) <= 1) return;
    this.#placedAt = scrollTop;
    this.#distance = this.#spreadTop() - scrollTop;
  };
}
