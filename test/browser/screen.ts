/** Reads and operates the page by roles and names, as users do, never by classes. */

import type { BrowserContext, Locator, Page } from 'playwright-core';
import type { BrowserWallet } from './wallets.ts';

/** The text of a table: one record for each body row, keyed by column heading. */
export interface TableText {
  readonly headings: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

export const tableNamed = (page: Page, name: string): Locator =>
  page.getByRole('table', { name, exact: true });

/** Reads a table at one moment. Skips rows with an unusual number of cells, such as the spread. */
export async function readTable(page: Page, name: string): Promise<TableText> {
  const { headings, cells } = await tableNamed(page, name).evaluate((element) => {
    const table = element as HTMLTableElement;
    const textOf = (cell: Element): string => (cell.textContent ?? '').trim();
    return {
      headings: [...table.querySelectorAll('thead th')].map(textOf),
      cells: [...table.querySelectorAll('tbody tr')].map((row) =>
        [...(row as HTMLTableRowElement).cells].map(textOf),
      ),
    };
  });
  const rows = cells
    .filter((row) => row.length === headings.length)
    .map((row) => Object.fromEntries(row.map((text, index) => [headings[index]!, text])));
  return { headings, rows };
}

/**
 * @returns the only heading that matches.
 * @throws Error if none or several match
 */
export function headingOf({ headings }: TableText, pattern: RegExp): string {
  const found = headings.filter((heading) => pattern.test(heading));
  if (found.length !== 1)
    throw new Error(`${pattern} names ${found.length} of the columns ${headings.join(', ')}`);
  return found[0]!;
}

/** The texts of one column, top to bottom. */
export function columnOf(table: TableText, pattern: RegExp): string[] {
  const heading = headingOf(table, pattern);
  return table.rows.map((row) => row[heading]!);
}

/**
 * Waits until `holds` accepts the result of `read`, and returns it.
 * @throws Error with the last result
 */
export async function untilRead<Reading>(
  read: () => Promise<Reading>,
  holds: (reading: Reading) => boolean,
  patienceMs = 60_000,
): Promise<Reading> {
  let last: unknown;
  for (const deadlineMs = Date.now() + patienceMs; Date.now() < deadlineMs; ) {
    try {
      const reading = await read();
      if (holds(reading)) return reading;
      last = JSON.stringify(reading);
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within ${patienceMs} ms; last: ${last}`);
}

/** Opens the list of wallets and selects one. */
export async function chooseWallet(page: Page, wallet: BrowserWallet): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: wallet.info.name, exact: true }).click();
}

/** Signs in, and waits until the "Sign in" button is gone. */
export async function signIn(page: Page, wallet: BrowserWallet): Promise<void> {
  await chooseWallet(page, wallet);
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor({ state: 'detached' });
}

export interface Draft {
  readonly side: 'buy' | 'sell';
  readonly type?: 'Limit' | 'Market';
  readonly price?: string;
  readonly size?: string;
  readonly amount?: string;
}

/** Fills the order form without sending it. */
export async function fillForm(page: Page, { side, type, price, size, amount }: Draft): Promise<void> {
  await page.getByRole('radio', { name: side === 'buy' ? 'Buy side' : 'Sell side', exact: true }).check();
  if (type !== undefined) await page.getByRole('radio', { name: type, exact: true }).check();
  for (const [name, value] of Object.entries({ Price: price, Size: size, Amount: amount }))
    if (value !== undefined) await page.getByRole('textbox', { name, exact: true }).fill(value);
}

/** The only element that shows the state of the book. */
export const bookState = (page: Page, state: 'live' | 'stale' | 'offline'): Locator =>
  page.getByText(new RegExp(`^${state}\\b`)).first();

/** Submits the order form once the book is live: before that, the page asks first. */
export async function submit(page: Page, side: 'buy' | 'sell'): Promise<void> {
  await bookState(page, 'live').waitFor();
  await page.getByRole('button', { name: side === 'buy' ? 'Buy' : 'Sell', exact: true }).click();
}

export const cancelButton = (page: Page, order: string): Locator =>
  page.getByRole('button', { name: `Cancel ${order}`, exact: true });

const signInButton = (page: Page): Locator => page.getByRole('button', { name: 'Sign in', exact: true });

/** Waits until the page shows the wallet: the beginning of its address, in any case. */
export async function signedInAs(page: Page, address: string): Promise<void> {
  await signInButton(page).waitFor({ state: 'detached' });
  await page
    .getByText(new RegExp(address.slice(0, 6), 'i'))
    .first()
    .waitFor();
}

export const expectSignedOut = (page: Page): Promise<void> => signInButton(page).waitFor();

/** Shows a table of the account if it is behind a tab. */
export async function showTab(page: Page, name: string): Promise<void> {
  const tab = page.getByRole('tab', { name: new RegExp(`^${name}`) });
  if (await tab.isVisible()) await tab.click();
  await tableNamed(page, name).waitFor();
}

/** Records what the status line says from now on. @returns a function that counts the sentences that match */
export async function hearing(page: Page): Promise<(sentence: string) => Promise<number>> {
  await page.evaluate(() => {
    const heard: string[] = [];
    Object.assign(window, { redbookTestHeard: heard });
    const line = document.querySelector('.status-line')!;
    new MutationObserver(() => heard.push(line.textContent ?? '')).observe(line, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  return (sentence) =>
    page.evaluate((wanted) => {
      const { redbookTestHeard: heard } = window as unknown as { redbookTestHeard: readonly string[] };
      const isNew = (text: string, at: number): boolean => text !== heard[at - 1] && text.includes(wanted);
      return heard.filter(isNew).length;
    }, sentence);
}

/** Waits for a sentence that is heard, since the status line shows only the last one. */
export const untilHeard = (heard: Awaited<ReturnType<typeof hearing>>, sentence: string): Promise<number> =>
  untilRead(
    () => heard(sentence),
    (count) => count > 0,
  );

/**
 * Turns the document, as a translation into Arabic does.
 * @returns the texts whose characters then do not stand from left to right
 */
export const reorderedWhenTurned = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    for (const element of [document.documentElement, document.body]) element.dir = 'rtl';
    const placeOf = (text: Text, at: number): DOMRect | undefined => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getClientRects()[0];
    };
    const isReordered = (text: Text): boolean => {
      const places = [...text.data].map((_, at) => placeOf(text, at)).filter((place) => place?.width);
      return places.some((place, at) => {
        const before = places[at - 1];
        return before !== undefined && place!.top < before.bottom && place!.left < before.left;
      });
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    while (walker.nextNode())
      if (isReordered(walker.currentNode as Text)) found.push((walker.currentNode as Text).data);
    for (const element of [document.documentElement, document.body]) element.dir = '';
    return found;
  });

/** Makes the page believe that nobody, or somebody, sees it. */
export const setVisibility = (page: Page, state: 'hidden' | 'visible'): Promise<void> =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);

/**
 * Makes pages offer the demo wallet, which the service does not offer behind a gateway. The page reads this value after
 * the document is parsed.
 */
export const offerDemo = (context: BrowserContext): Promise<unknown> =>
  context.addInitScript(() => {
    document.addEventListener('readystatechange', () =>
      document.querySelector('meta[name="redbook-demo"]')?.setAttribute('content', 'true'),
    );
  });
