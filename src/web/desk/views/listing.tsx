/** The parts of all views: panels, tables that scroll sideways by themselves, facts, and what went wrong. */

import { type ComponentChildren, Fragment } from 'preact';
import { shown } from '../../../domain/text.ts';
import type { Turning } from '../use-pages.ts';

export const Trouble = ({ text }: { readonly text: string | null }) =>
  text === null ? null : (
    <p class="note error" role="alert">
      {shown(text)}
    </p>
  );

export const Facts = ({ facts }: { readonly facts: readonly (readonly [string, string])[] }) => (
  <dl class="figures">
    {facts.map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{shown(value)}</dd>
      </Fragment>
    ))}
  </dl>
);

interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Panel = ({ title, aside, children }: PanelProps) => (
  <section class="panel" aria-label={title}>
    <div class="panel-head">
      <h2>{title}</h2>
      {aside}
    </div>
    <div class="panel-body desk-act">{children}</div>
  </section>
);

interface ListingProps {
  readonly title: string;
  readonly columns: readonly string[];
  /** Undefined until the first answer. */
  readonly rows: readonly (readonly [id: string | number, cells: readonly ComponentChildren[]])[] | undefined;
  readonly empty: string;
  readonly trouble?: string | null;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  /** Turns the pages of the list. */
  readonly pages?: Turning | undefined;
}

export const Listing = ({ title, columns, rows, empty, trouble = null, aside, pages }: ListingProps) => (
  <Panel title={title} aside={aside}>
    <Trouble text={trouble} />
    {rows === undefined && trouble === null && <p class="muted">Loading …</p>}
    {rows?.length === 0 && <p class="muted">{empty}</p>}
    {rows !== undefined && rows.length > 0 && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot scroll in every browser
      <section class="desk-scroll" tabIndex={0} aria-label={`Table: ${title}`}>
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([id, cells]) => (
              <tr key={id}>
                {cells.map((cell, at) => (
                  <td key={columns[at]}>{typeof cell === 'string' ? shown(cell) : cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    )}
    {pages !== undefined && <Pages title={title} pages={pages} />}
  </Panel>
);

/** A list of one page needs no buttons. */
const Pages = ({
  title,
  pages: { number, previous, next },
}: {
  readonly title: string;
  readonly pages: Turning;
}) =>
  previous === null && next === null ? null : (
    <nav class="desk-actions" aria-label={`Pages: ${title}`}>
      <button type="button" class="button small" disabled={previous === null} onClick={() => previous?.()}>
        Previous page
      </button>
      <button type="button" class="button small" disabled={next === null} onClick={() => next?.()}>
        Next page
      </button>
      <span class="muted" role="status">
        Page {number}
      </span>
    </nav>
  );

/** Writes an ISO time in UTC, to the second. */
export const shownTime = (time: string | null): string =>
  time === null ? '–' : `${time.slice(0, 10)} ${time.slice(11, 19)}`;
