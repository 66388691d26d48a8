/** A table of the account that can be sorted by each column, and filtered by a text. */

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { compare } from '../../client/index.ts';
import { momentText } from '../figures/clock-text.ts';
import { shown } from '../state/number-style.ts';

export interface Column<Item> {
  readonly name: string;
  /** `action` is not sorted; `time` is an ISO 8601 text. */
  readonly kind: 'text' | 'time' | 'figure' | 'action';
  /** The text that sorts and filters, and is shown unless `show` is given. */
  readonly text: (item: Item) => string;
  readonly show?: (item: Item) => ComponentChildren;
}

interface Sorting {
  readonly column: string;
  readonly isDown: boolean;
}

/** Order of each table by its name; a table without one stands as the service lists it. */
const sortings = signal<Readonly<Record<string, Sorting>>>({});

/** A row is shown when one of its cells contains this text. */
export const filterText = signal('');

const TIME = { dateStyle: 'short', timeStyle: 'medium' } as const;

/** Writes a time without its date if that is today's, so that a table fits. */
export function timeText(iso: string): string {
  const date = new Date(iso);
  return date.toDateString() === new Date().toDateString()
    ? momentText(date, { timeStyle: 'medium' })
    : momentText(date, TIME);
}

const shownText = <Item,>({ kind, text }: Column<Item>, item: Item): string =>
  kind === 'time' ? timeText(text(item)) : kind === 'figure' ? shown(text(item)) : text(item);

const FIGURE = /^-?[0-9.]+/;

const figureOf = (text: string): string => FIGURE.exec(text)?.[0] ?? '';

/** Compares the figures at the beginning of two texts exactly; texts without one come first. */
function compareFigures(one: string, other: string): number {
  const first = figureOf(one);
  const second = figureOf(other);
  if (first === '' || second === '') return Number(first !== '') - Number(second !== '');
  return compare(first, second);
}

function sorted<Item>(items: readonly Item[], columns: readonly Column<Item>[], by: Sorting | undefined) {
  const column = columns.find(({ name }) => name === by?.column);
  if (by === undefined || column === undefined) return items;
  const order = column.kind === 'figure' ? compareFigures : (a: string, b: string) => a.localeCompare(b);
  const keyed = items.map((item) => [column.text(item), item] as const);
  const sign = by.isDown ? -1 : 1;
  return keyed.sort(([one], [other]) => sign * order(one, other)).map(([, item]) => item);
}

function filtered<Item>(items: readonly Item[], columns: readonly Column<Item>[]): readonly Item[] {
  const wanted = filterText.value.trim().toLowerCase();
  if (wanted === '') return items;
  return items.filter((item) =>
    columns.some((column) =>
      [shownText(column, item), column.text(item)].some((text) => text.toLowerCase().includes(wanted)),
    ),
  );
}

/** A click sorts upwards, the next one downwards, and the third one not at all. */
function sortBy(table: string, column: string): void {
  const { [table]: present, ...others } = sortings.value;
  const isSame = present?.column === column;
  sortings.value = isSame && present.isDown ? others : { ...others, [table]: { column, isDown: isSame } };
}

const classOf = (kind: Column<never>['kind']): string | undefined =>
  kind === 'figure' ? 'number' : undefined;

function Heading({ table, name, kind }: { table: string; name: string; kind: Column<never>['kind'] }) {
  const by = sortings.value[table];
  const direction = by?.isDown ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(kind)} aria-sort={by?.column === name ? direction : undefined}>
      {kind === 'action' ? (
        name
      ) : (
        <button type="button" class="sort" onClick={() => sortBy(table, name)}>
          {name}
        </button>
      )}
    </th>
  );
}

/** Gives each row of a table two lines while one line is wider than the panel. */
function useLines(table: { readonly current: HTMLTableElement | null }): void {
  const fit = (): void => {
    const { classList, parentElement } = table.current!;
    classList.remove('two-lines');
    const isWider = table.current!.offsetWidth > parentElement!.clientWidth;
    classList.toggle('two-lines', isWider);
  };
  useLayoutEffect(fit);
  useEffect(() => {
    addEventListener('resize', fit);
    return () => removeEventListener('resize', fit);
  }, []);
}

interface DataTableProps<Item> {
  readonly name: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  /** False until the items were read for the first time. */
  readonly isRead: boolean;
  readonly emptyText: string;
  readonly keyOf: (item: Item) => string;
  /** Content below the row of an item, over all columns. */
  readonly below?: (item: Item) => ComponentChildren;
  /** False for a table that the filter leaves whole. */
  readonly isFiltered?: boolean;
}

/**
 * The rows, or a sentence in their place. On a phone each cell has its column above it; in a narrow panel a row has two
 * lines.
 */
export function DataTable<Item>(props: DataTableProps<Item>) {
  const { name, columns, items, isRead, emptyText, keyOf, below, isFiltered = true } = props;
  const table = useRef<HTMLTableElement>(null);
  useLines(table);
  const left = isFiltered ? filtered(items, columns) : items;
  const rows = sorted(left, columns, sortings.value[name]);
  return (
    <>
      <div class="table-frame">
        <table
          ref={table}
          class="account-table"
          style={{ '--columns': Math.ceil(columns.length / 2) }}
          tabIndex={-1}
        >
          <caption class="visually-hidden">{name}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={column.name} table={name} name={column.name} kind={column.kind} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((item) => {
              const further = below?.(item) ?? null;
              return [
                <tr key={keyOf(item)}>
                  {columns.map((column) => (
                    <td key={column.name} data-of={column.name} class={classOf(column.kind)}>
                      {column.show?.(item) ?? shownText(column, item)}
                    </td>
                  ))}
                </tr>,
                further !== null && (
                  <tr key={`below ${keyOf(item)}`}>
                    <td class="below" colSpan={columns.length}>
                      {further}
                    </td>
                  </tr>
                ),
              ];
            })}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && isRead && (
        <p class="empty-note muted">
          {items.length === 0 ? emptyText : 'No row has the text of the filter.'}
        </p>
      )}
    </>
  );
}
