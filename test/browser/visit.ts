/**
 * Visits the page. Each visit is a separate browser context that records offences: errors on the console, uncaught
 * errors, violations of the content security policy, and requests to another host.
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { closeSharedBrowser, KEEP_NAMES, sharedBrowser } from './chromium.ts';
import { type BrowserWallet, injectWallets } from './wallets.ts';

interface VisitOptions {
  /** CSS pixels; by default 1,280 by 800. */
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Announced by EIP-6963 before the page's own scripts run. */
  readonly wallets?: readonly BrowserWallet[];
  /** False for wallets that are only put into the page. */
  readonly isAnnounced?: boolean;
  readonly reducedMotion?: 'reduce' | 'no-preference';
  /** Choices that the browser keeps from earlier visits, by name. */
  readonly choices?: Readonly<Record<string, string>>;
  /** Runs before the page is opened. */
  readonly prepare?: (visit: Visit) => Promise<void>;
}

export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Offences so far that do not match a pattern of `tolerate`. */
  offences(): readonly string[];
  /** Accepts offences that the scenario provokes, such as the console line for a reply with status 400. */
  tolerate(...patterns: readonly RegExp[]): void;
}

/** Opens an address in a new context. */
type OpenVisit = (url: string, options?: VisitOptions) => Promise<Visit>;

// Each test file loads this file, so the browser closes when the process has run all of them.
after(closeSharedBrowser);

/** Long, because the browser shares the processors with the other tests. */
const PATIENCE_MS = 60_000;
const LOCAL_SCHEMES = /^(data|blob|about):/;

/** Rate limits count by address, so each visit has a different one. */
let visitors = 0;
function nextAddress(): string {
  visitors += 1;
  return `10.1.${visitors >> 8}.${visitors & 255}`;
}

async function recordOffences(
  context: BrowserContext,
  host: string,
): Promise<Pick<Visit, 'offences' | 'tolerate'>> {
  const seen: string[] = [];
  const tolerated: RegExp[] = [];
  const requireOwnHost = (url: string): void => {
    if (!LOCAL_SCHEMES.test(url) && new URL(url).host !== host) seen.push(`request to another host: ${url}`);
  };
  context.on('console', (message) => {
    if (message.type() === 'error') seen.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => seen.push(`uncaught: ${error.error().stack ?? error.error().message}`));
  context.on('request', (request) => requireOwnHost(request.url()));
  context.on('page', (page) => page.on('websocket', (socket) => requireOwnHost(socket.url())));
  await context.exposeBinding('redbookTestViolation', (_source, text: string) => {
    seen.push(`policy: ${text}`);
  });
  await context.addInitScript(() => {
    const tell = (text: string): void => {
      (window as unknown as { redbookTestViolation(text: string): void }).redbookTestViolation(text);
    };
    document.addEventListener('securitypolicyviolation', (event) => {
      tell(`${event.effectiveDirective} blocks ${event.blockedURI} ${event.sample} (${event.sourceFile})`);
    });
    new ReportingObserver((reports) => {
      for (const { type, body } of reports)
        if (type === 'csp-violation') tell(`report ${JSON.stringify(body)}`);
    }).observe();
  });
  return {
    offences: () => seen.filter((text) => !tolerated.some((pattern) => pattern.test(text))),
    tolerate: (...patterns) => tolerated.push(...patterns),
  };
}

async function openVisit(browser: Browser, url: string, options: VisitOptions): Promise<Visit> {
  const { width = 1280, height = 800, theme = 'light', wallets = [], reducedMotion = 'reduce' } = options;
  const { choices = {} } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion,
    locale: 'en-GB',
    timezoneId: 'UTC',
    extraHTTPHeaders: { 'x-forwarded-for': nextAddress() },
  });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addInitScript(KEEP_NAMES);
  await context.addInitScript((kept) => {
    // The empty document that a tab begins with has no storage.
    if (location.protocol === 'about:') return;
    for (const [name, value] of Object.entries(kept)) localStorage.setItem(`redbook:${name}`, value);
  }, choices);
  const recorded = await recordOffences(context, new URL(url).host);
  await injectWallets(context, wallets, options.isAnnounced);
  const visit: Visit = { context, page: await context.newPage(), ...recorded };
  await options.prepare?.(visit);
  await visit.page.goto(url);
  return visit;
}

/** Saves a screenshot and the text of a failed page, and returns their location. */
async function keepEvidence(visits: readonly Visit[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-browser-'));
  for (const [index, { page, offences }] of visits.entries()) {
    await page.screenshot({ path: join(folder, `${index}.png`), fullPage: true }).catch(() => undefined);
    const text = await page
      .locator('body')
      .ariaSnapshot()
      .catch(() => 'the page does not answer');
    writeFileSync(join(folder, `${index}.txt`), `${page.url()}\n${offences().join('\n')}\n${text}\n`);
  }
  return folder;
}

export type Scenario = (open: OpenVisit) => Promise<void>;

/**
 * Runs a scenario with its own contexts, and closes them.
 * @param onFailure receives the visits before they are closed.
 * @returns the location of the evidence
 * @throws Error if the scenario fails or a visit has offences
 */
export async function withVisits(
  scenario: Scenario,
  onFailure?: (visits: readonly Visit[]) => Promise<string>,
): Promise<void> {
  const browser = await sharedBrowser();
  const visits: Visit[] = [];
  const open: OpenVisit = (url, options = {}) =>
    openVisit(browser, url, {
      ...options,
      prepare: async (visit) => {
        visits.push(visit);
        await options.prepare?.(visit);
      },
    });
  try {
    await scenario(open);
    const offences = visits.flatMap((visit) => visit.offences());
    if (offences.length > 0) throw new Error(`the page offended:\n${offences.join('\n')}`);
  } catch (error) {
    const evidence = await onFailure?.(visits);
    if (evidence) console.error(`      pictures and text of the page: ${evidence}`);
    throw error;
  } finally {
    for (const { context } of visits) await context.close();
  }
}

/** Runs a test that mostly waits concurrently with the others, which run in sequence. */
export function besideEachOther(
  [waiting, slow]: readonly [name: string, scenario: Scenario],
  others: readonly (readonly [name: string, scenario: Scenario])[],
): void {
  let outcome: Promise<void>;
  before(() => {
    outcome = withVisits(slow, keepEvidence);
    outcome.catch(() => undefined); // told by its test
  });
  for (const [name, scenario] of others) browserTest(name, scenario);
  it(waiting, () => outcome);
}

/** A mocha test in the browser. */
export function browserTest(name: string, scenario: Scenario): void {
  it(name, () => withVisits(scenario, keepEvidence));
}
