/** Downloads the wallet's statement: every change of its balances, as one file. */

import { type Signal, signal } from '@preact/signals';
import { RedbookError, type Session, statementCsv } from '../../client/index.ts';
import { announce } from './announcements.ts';
import { endAfter, session } from './session.ts';

const DAY_MS = 86_400_000;
/** Longest span of one request. */
const SPAN_DAYS = 31;
/** Maximum days and pages of a file, which is in memory as a whole. */
const MAX_DAYS = 366;
const MAX_PAGES = 2_000;

/** True while a statement is read. */
export const isDownloading: Signal<boolean> = signal(false);

/** @returns the day as `2026-11-23`, by UTC, as in the statement */
export const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Reads the statement of whole days, both included. @throws RedbookError */
async function readStatement(asked: Session, firstMs: number, lastMs: number): Promise<string[]> {
  const pages: string[] = [];
  for (let fromMs = firstMs; fromMs <= lastMs; fromMs += SPAN_DAYS * DAY_MS) {
    const toMs = Math.min(fromMs + SPAN_DAYS * DAY_MS, lastMs + DAY_MS);
    let isFirstOfSpan = true;
    for await (const text of statementCsv(asked, { from: dayText(fromMs), to: dayText(toMs) })) {
      if (pages.length === MAX_PAGES) throw new RangeError(`more than ${MAX_PAGES} pages: choose fewer days`);
      const repeatsNames = isFirstOfSpan && pages.length > 0;
      pages.push(repeatsNames ? text.slice(text.indexOf('\n') + 1) : text);
      isFirstOfSpan = false;
    }
  }
  return pages;
}

function save(name: string, parts: readonly string[]): void {
  // Excel reads a file without the mark in another encoding.
  const address = URL.createObjectURL(new Blob(['\ufeff', ...parts], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Firefox reads the file after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** @param from first day, like `2026-11-23`, by UTC @param to last day */
export async function downloadStatement(from: string, to: string): Promise<void> {
  const asked = session.peek();
  if (asked === null || isDownloading.peek()) return;
  const firstMs = Date.parse(from);
  const lastMs = Date.parse(to);
  // Neither holds for a day that cannot be read.
  if (!(firstMs <= lastMs) || !(lastMs - firstMs < MAX_DAYS * DAY_MS)) {
    announce(`Choose a first day and a later last day, at most ${MAX_DAYS} days together.`, 'alert');
    return;
  }
  isDownloading.value = true;
  try {
    save(`statement-${from}-${to}.csv`, await readStatement(asked, firstMs, lastMs));
    announce('The statement was downloaded.');
  } catch (thrown) {
    const text =
      thrown instanceof RedbookError || thrown instanceof RangeError ? thrown.message : 'no answer';
    if (!endAfter(thrown, asked)) announce(`The statement was not downloaded: ${text}.`, 'alert');
  } finally {
    isDownloading.value = false;
  }
}
