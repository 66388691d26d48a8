/** The parts of all views: panels, tables that scroll sideways by themselves, facts, and what went wrong. */

import { type ComponentChildren, Fragment } from 'preact';

export const Trouble = ({ text }: { readonly text: string | null }) =>
  text === null ? null : (
    <p class="note error" role="alert">
      {text}
    </p>
  );

export const Facts = ({ facts }: { readonly facts: readonly (readonly [string, string])[] }) => (
  <dl class="figures">
    {facts.map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
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
  /** Tells that there are more rows. */
  readonly more?: string | undefined;
  /** Beside the title, where `more` is not. */
  readonly aside?: ComponentChildren;
}

export const Listing = ({ title, columns, rows, empty, trouble = null, more, aside }: ListingProps) => (
  <Panel title={title} aside={more === undefined ? aside : <span class="muted">{more}</span>}>
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
                  <td key={columns[at]}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    )}
  </Panel>
);

/** Writes an ISO time in UTC, to the second. */
export const shownTime = (time: string | null): string =>
  time === null ? '–' : `${time.slice(0, 10)} ${time.slice(11, 19)}`;
