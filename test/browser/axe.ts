/** Runs axe in a page, and measures sideways scrolling. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Leaves out elements that violate nothing, because axe would write down each of them. */
const ALL_RULES: RunOptions = { resultTypes: ['violations'] };
/** Rules for each theme: the second one changes nothing but colors. */
export const RULES_OF_THEMES: readonly (readonly [theme: 'light' | 'dark', rules: RunOptions])[] = [
  ['light', ALL_RULES],
  ['dark', { ...ALL_RULES, runOnly: ['color-contrast', 'link-in-text-block'] }],
];

type AxeWindow = { readonly axe?: { run(context: string, options: RunOptions): Promise<AxeResults> } };

/** Runs axe in the page, or in a part of it. @returns each violated rule, with the first element that violates it */
export async function violationsOf(page: Page, options: RunOptions, part = 'html'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const { violations } = await page.evaluate(
    ([selector, asked]) => (window as unknown as AxeWindow).axe!.run(selector, asked),
    [part, options] as const,
  );
  return violations.map(({ id, help, nodes }) => {
    const [first] = nodes;
    return `${id}: ${help} (${nodes.length} elements)\n${first?.html}\n${first?.failureSummary}`;
  });
}

/** Number of pixels by which the page is wider than the window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
