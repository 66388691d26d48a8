/**
 * A list that the API returns in pages, newest first, and whose pages are reread one at a time.
 *
 * When new items push others off the first page, the others are in no page until the second page is reread from the new
 * end of the first. They are kept in between.
 */

export interface Dated {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Items pushed off this page that the next page does not show yet. */
  readonly pushedOff: readonly Item[];
  /** Position of the next page; null at the end of the list. */
  readonly nextCursor: string | null;
}

export interface PagedList<Item> {
  /** Undefined for a page that must be read. */
  readonly pages: readonly ListPage<Item>[];
}

export const EMPTY_LIST: PagedList<never> = { pages: [] };

/** Returns the cursor that reads page `index`; undefined for the first page, null when there is no such page. */
export const cursorOf = (list: PagedList<Dated>, index: number): string | undefined | null =>
  index === 0 ? undefined : (list.pages[index - 1]?.nextCursor ?? null);

export const hasMore = ({ pages }: PagedList<Dated>): boolean =>
  pages.length > 0 && pages[pages.length - 1]!.nextCursor !== null;

/** Puts a page that was just read into the list. */
export function withPage<Item extends Dated>(
  list: PagedList<Item>,
  index: number,
  items: readonly Item[],
  nextCursor: string | null,
): PagedList<Item> {
  const { pages } = list;
  const last = items[items.length - 1];
  const ids = new Set(items.map(({ id }) => id));
  const isLastLoaded = index >= pages.length - 1;
  const before = pages[index];
  const pushedOff =
    before === undefined || last === undefined || isLastLoaded || nextCursor === null
      ? []
      : [...before.items, ...before.pushedOff].filter(
          ({ id, createdAt }) => !ids.has(id) && createdAt <= last.createdAt,
        );
  const read = { items, nextCursor, pushedOff };
  // A read of this page shows what the page before had lost.
  const earlier = pages
    .slice(0, index)
    .map((page, at) => (at === index - 1 ? { ...page, pushedOff: [] } : page));
  return { pages: [...earlier, read, ...(nextCursor === null ? [] : pages.slice(index + 1))] };
}

/** Returns all items, each once, newest first. */
export function itemsOf<Item extends Dated>({ pages }: PagedList<Item>): Item[] {
  const items = new Map<string, Item>();
  for (const page of pages) {
    for (const item of [...page.items, ...page.pushedOff]) if (!items.has(item.id)) items.set(item.id, item);
  }
  return [...items.values()];
}

/** Returns the list without some items, as after an answered cancel. */
export function without<Item extends Dated>(
  { pages }: PagedList<Item>,
  ids: ReadonlySet<string>,
): PagedList<Item> {
  const left = (items: readonly Item[]): Item[] => items.filter(({ id }) => !ids.has(id));
  return {
    pages: pages.map((page) => ({ ...page, items: left(page.items), pushedOff: left(page.pushedOff) })),
  };
}
