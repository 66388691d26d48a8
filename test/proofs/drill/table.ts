/** The drill's checks and the figures behind them. */

import { BEAT_MS } from '../../../src/domain/beat.ts';
import { PLAIN } from '../../../src/terminal/paint.ts';
import { column, formatCounted, renderTable } from '../../../src/terminal/table.ts';
import { CHANGES, type Failover, type Failure, type Outcome, type Phase } from './drill.ts';

/** A condition that must hold, and the observed figure. */
export interface Check {
  readonly what: string;
  readonly seen: string;
  readonly holds: boolean;
}

const BACK_WITHIN_MS = 5_000;
/** Allowed delay of a beat, in addition to the time for which the whole machine did not run. */
const LEEWAY_MS = 500;
/** Time that the Kubernetes manifests allow a process after its drain. */
const AFTER_DRAIN_MS = 15_000;

const SHOWN_FAILURES = 20;

export function checksOf(outcome: Outcome, minPerSecond: number): Check[] {
  const { plan, phases, load, screens, processes, failovers, ofUnknown } = outcome;
  const seconds = (phases.at(-1)!.toMs - phases[0]!.fromMs) / 1_000;
  const rate = load.driver.answers.count / seconds;
  const innocent = innocentOf(outcome).length;
  const outageMs = Math.max(0, ...failovers.map(({ nextOrderMs }) => nextOrderMs));
  const heldUpMs = Math.max(...phases.map((phase) => phase.heldUpMs));
  const maxAwayMs = Math.max(0, ...screens.absences.map(({ awayMs }) => awayMs));
  const longestGapMs = Math.max(screens.longestWaitMs(), ...screens.views().map((view) => view.longestGapMs));
  const ended = processes.exits.filter(({ signal }) => signal === 'SIGTERM');
  const disorderly = ended.filter(
    ({ code, graceMs }) => code !== 0 || graceMs > plan.drainMs + AFTER_DRAIN_MS,
  );
  const resolved = ofUnknown.found + ofUnknown.placed + ofUnknown.refused;
  return [
    check('requests a second', rate.toFixed(0), rate >= minPerSecond, `at least ${minPerSecond}`),
    check('failed requests that no killed process had', innocent, innocent === 0, '0'),
    check(
      'orders of unknown outcome that were found, placed once or refused',
      `${resolved} of ${ofUnknown.asked}`,
      resolved === ofUnknown.asked,
      'all',
    ),
    check(
      'violations of the invariants of a campaign',
      load.violations.map(({ invariant, detail }) => `${invariant}: ${detail}`).join('; ') || 0,
      load.violations.length === 0,
      '0',
    ),
    check(
      'longest absence of a screen',
      ms(maxAwayMs),
      maxAwayMs <= BACK_WITHIN_MS,
      `at most ${ms(BACK_WITHIN_MS)}`,
    ),
    check('screens that did not come back', screens.away(), screens.away() === 0, '0'),
    check(
      'longest time between two beats',
      ms(longestGapMs),
      longestGapMs <= 2 * BEAT_MS + outageMs + LEEWAY_MS + heldUpMs,
      `at most ${ms(2 * BEAT_MS + outageMs)}, give or take ${ms(LEEWAY_MS + heldUpMs)}`,
    ),
    check(
      'processes that ended in disorder or too late',
      `${disorderly.length} of ${ended.length}`,
      disorderly.length === 0,
      'none',
    ),
  ];
}

/** Orders and reads answer 503 from the death of a primary until the next one is open. */
const isDuring =
  ({ sentAtMs, failedAtMs, what }: Failure) =>
  ({ fromMs, toMs }: Failover): boolean =>
    failedAtMs >= fromMs && sentAtMs <= toMs && what.startsWith('503');

/** Returns the failed requests that neither a killed process nor a failover explains. */
function innocentOf({ load, victims, failovers }: Outcome): Failure[] {
  const ofKilled = new Set(victims.map(({ connection, sentAtMs }) => `${connection} ${sentAtMs}`));
  return load.failures.filter(
    (failure) =>
      !failovers.some(isDuring(failure)) && !ofKilled.has(`${failure.connection} ${failure.sentAtMs}`),
  );
}

const check = (what: string, seen: string | number, holds: boolean, wanted: string): Check => ({
  what: `${what} (${wanted})`,
  seen: String(seen),
  holds,
});

const ms = (milliseconds: number): string => `${formatCounted(Math.round(milliseconds))} ms`;

export function tablesOf(outcome: Outcome, checks: readonly Check[]): string {
  return [
    requests(outcome),
    phases(outcome),
    ...(outcome.failovers.length > 0 ? [failovers(outcome)] : []),
    replicas(outcome),
    screens(outcome),
    exits(outcome),
    renderTable(
      [column('what must hold'), column('seen', 'right'), column('')],
      checks.map(({ what, seen, holds }) => [what, seen, holds ? 'holds' : 'DOES NOT HOLD']),
      PLAIN,
    ),
  ].join('\n');
}

function requests({ load }: Outcome): string {
  const rows = [...load.tookMs].map(([kind, tookMs]) => {
    const sorted = [...tookMs].sort((one, other) => one - other);
    const at = (share: number): string => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1);
    const failed = load.failures.filter((failure) => failure.kind === kind).length;
    return [kind, formatCounted(sorted.length), formatCounted(failed), at(0.5), at(0.95), at(0.99), at(1)];
  });
  const heads = ['answered', 'failed', 'p50 ms', 'p95', 'p99', 'max'].map((title) => column(title, 'right'));
  return renderTable([column('requests'), ...heads], rows, PLAIN);
}

function phases(outcome: Outcome): string {
  const { phases, load, victims, ofUnknown, screens, log } = outcome;
  const within =
    ({ fromMs, toMs }: Phase) =>
    (atMs: number): boolean =>
      atMs >= fromMs && atMs < toMs;
  const count = (list: readonly Failure[], phase: Phase): number =>
    list.filter(({ sentAtMs }) => within(phase)(sentAtMs)).length;
  const rows = phases.map((phase) => {
    const absences = screens.absences.filter(({ sinceMs }) => within(phase)(sinceMs));
    return [
      phase.name,
      ((phase.toMs - phase.fromMs) / 1_000).toFixed(1),
      formatCounted(phase.sent),
      formatCounted(count(load.failures, phase)),
      formatCounted(count(victims, phase)),
      formatCounted(absences.length),
      formatCounted(Math.round(Math.max(0, ...absences.map(({ awayMs }) => awayMs)))),
      formatCounted(Math.round(phase.heldUpMs)),
    ];
  });
  const heads = ['s', 'sent', 'failed', 'on the killed', 'screens sent away', 'away ms', 'driver held up ms'];
  const unreached = victims.filter(({ isUnreached }) => isUnreached).length;
  const after = [
    `Requests on killed processes: ${victims.length - unreached} in flight, ${unreached} sent before the balancer knew.`,
    `Orders of unknown outcome, asked for again: ${ofUnknown.found} found, ${ofUnknown.placed} placed then, ${ofUnknown.refused} refused.`,
    ...innocentOf(outcome)
      .slice(0, SHOWN_FAILURES)
      .map(({ kind, what, message = '', connection, sentAtMs }) => {
        const seen = log.filter(({ client }) => client === connection).slice(-1);
        const phase = phases.find((one) => within(one)(sentAtMs));
        const atMs = phase === undefined ? 0 : Math.round(sentAtMs - phase.fromMs);
        return `  ${phase?.name} + ${atMs} ms, ${kind}: ${what} ${message}${seen.map(({ server, ending }) => `; ${server} ${ending}`).join('')}`;
      }),
  ];
  return `${renderTable([column('phase'), ...heads.map((title) => column(title, 'right'))], rows, PLAIN)}${after.join('\n')}\n`;
}

function failovers({ failovers, load }: Outcome): string {
  const rows = CHANGES.map((change) => {
    const ofChange = failovers.filter((one) => one.change === change);
    const sorted = ofChange.map(({ nextOrderMs }) => nextOrderMs).sort((one, other) => one - other);
    const at = (share: number): string => formatCounted(sorted[Math.ceil(sorted.length * share) - 1]!);
    const counts = new Map<string, number>();
    for (const failure of load.failures.filter((one) => ofChange.some(isDuring(one))))
      counts.set(failure.what, (counts.get(failure.what) ?? 0) + 1);
    const failed = [...counts].map(([what, count]) => `${formatCounted(count)} ${what}`).join(', ');
    return [change, String(sorted.length), at(0.5), at(0.99), at(1), failed];
  });
  const heads = ['times', 'next order p50 ms', 'p99', 'max', 'failed requests'];
  return renderTable([column('primary'), ...heads.map((title) => column(title, 'right'))], rows, PLAIN);
}

function replicas({ replies }: Outcome): string {
  const rows = [...replies]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name, formatCounted(count)]);
  return renderTable([column('replica'), column('replies', 'right')], rows, PLAIN);
}

function screens({ screens }: Outcome): string {
  const rows = screens
    .views()
    .map(({ path, beats, longestGapMs }) => [
      path,
      formatCounted(beats),
      formatCounted(Math.round(longestGapMs)),
    ]);
  return renderTable(
    [
      column(`stream (${screens.count} screens)`),
      column('beats', 'right'),
      column('longest gap ms', 'right'),
    ],
    rows,
    PLAIN,
  );
}

function exits({ processes }: Outcome): string {
  const rows = processes.exits.map(({ name, signal, code, unreadyMs, graceMs }) => [
    name,
    signal,
    code === null ? '' : String(code),
    formatCounted(Math.round(unreadyMs)),
    formatCounted(Math.round(graceMs)),
  ]);
  const heads = ['exit', 'unready after ms', 'ended after ms'].map((title) => column(title, 'right'));
  return renderTable([column('process'), column('signal'), ...heads], rows, PLAIN);
}
