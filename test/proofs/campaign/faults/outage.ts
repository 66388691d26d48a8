/** Postgres is away for long while trading goes on: the lag that it leaves is made up in half the time. */

import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../support/eventually.ts';
import { type Flood, openFlood } from '../bulk.ts';
import { type Cluster, engineSequence, PATIENCE_MS, settledIn } from '../cluster.ts';
import { watchProcessorSpeed, watchStolenTime } from '../machine.ts';
import type { Fault } from './fault.ts';
import { pauseSettlement } from './settlement-points.ts';

const OUTAGE_MS = 120_000;
const SHORT_OUTAGE_MS = 5_000;
/** Orders whose settlement is timed. The first ones also warm the process up. */
const BACKLOG = 10_000;
/** Twenty seconds of settlement at 12,000 events a second. Shorter ones leave out checkpoints and vacuums. */
const LONG_BACKLOG = 250_000;
/** The first measurement is only the expectation of the second. */
const EXPECTED_BACKLOG = 50_000;
/** Maximum measurements, and the share by which two of them may differ that follow each other. */
const MEASUREMENTS = 3;
const SETTLED_SHARE = 0.1;
/** Share of the rate of settlement at which orders are placed. */
const SHARE = 1 / 4;
/** Events of the last second count as no lag while trading goes on. */
const FRESH_S = 1;

async function lagOf(cluster: Cluster): Promise<number> {
  const settled = await settledIn(cluster);
  return (await engineSequence(cluster.redis))! - settled;
}

/** Each look at Postgres takes a new connection, so looks are rare where settlement is timed. */
const LOOK_MS = 250;

/**
 * Settles a backlog while orders come at a pace.
 * @returns events that are settled in a second, from the first commit until most of the backlog is gone
 */
async function settlementRate(
  cluster: Cluster,
  flood: Flood,
  backlog: number,
  perSecond: number,
): Promise<number> {
  const pause = await pauseSettlement(cluster);
  await flood.place(backlog);
  const before = await settledIn(cluster);
  flood.begin(perSecond);
  await pause.end();
  const settles = async (to: number): Promise<{ readonly at: number; readonly atMs: number }> => {
    await eventually(
      `event ${to} is settled`,
      async () => (await settledIn(cluster)) >= to,
      PATIENCE_MS,
      LOOK_MS,
    );
    return { at: await settledIn(cluster), atMs: performance.now() };
  };
  const first = await settles(before + 1);
  const last = await settles(before + backlog * 0.9);
  await flood.stop();
  // Whatever is left would add to the lag of the outage.
  await cluster.untilSettled();
  return ((last.at - first.at) * 1_000) / (last.atMs - first.atMs);
}

/** Processors of a part of the round. */
interface Processors {
  /** Share of their time that the host took. */
  readonly stolen: number;
  /** Milliseconds of a fixed piece of work. */
  readonly workMs: number;
}

function watchProcessors(): () => Processors {
  const stolen = watchStolenTime();
  const workMs = watchProcessorSpeed();
  return () => ({ stolen: stolen(), workMs: workMs() });
}

interface Measured {
  readonly rate: number;
  readonly processors: Processors;
}

/**
 * Measures the rate of settlement while orders come at a quarter of it, as they do in the outage. Those who trade and
 * settlement share the processors, so each measurement takes its orders from the one before, until two agree.
 */
async function measure(cluster: Cluster, flood: Flood, isShort: boolean): Promise<Measured> {
  const backlog = isShort ? BACKLOG : LONG_BACKLOG;
  let expected = await settlementRate(cluster, flood, BACKLOG, 0);
  if (!isShort) expected = await settlementRate(cluster, flood, EXPECTED_BACKLOG, expected * SHARE);
  for (let left = MEASUREMENTS; ; left -= 1) {
    const watch = watchProcessors();
    const rate = await settlementRate(cluster, flood, backlog, expected * SHARE);
    const processors = watch();
    if (left === 1 || Math.abs(rate - expected) <= expected * SETTLED_SHARE) return { rate, processors };
    expected = (expected + rate) / 2;
  }
}

/** Beyond these, the processors of the catch-up are not those of the measurement. */
const MAX_STOLEN_SHARE = 0.05;
const MAX_SLOWDOWN = 1.1;

const isAsFast = (before: Processors, then: Processors): boolean =>
  then.stolen - before.stolen <= MAX_STOLEN_SHARE && then.workMs <= before.workMs * MAX_SLOWDOWN;

const percent = (share: number): string => `${Math.round(share * 100)} %`;
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

export const longOutage: Fault = {
  name: 'Postgres away for two minutes',
  rounds: 5,
  seconds: 420,
  shortRounds: 1,
  plan: async (base) => ({ plan: base }),
  async inject({ cluster, isShort, note, violation }) {
    const outageMs = isShort ? SHORT_OUTAGE_MS : OUTAGE_MS;
    const flood = await openFlood(cluster);
    const { rate, processors: before } = await measure(cluster, flood, isShort);
    const killedMs = performance.now();
    await cluster.postgres.kill();
    const away = (await engineSequence(cluster.redis))!;
    flood.begin(rate * SHARE);
    await sleep(outageMs);
    return async () => {
      // Postgres is away until it has read its log again and lets somebody in.
      await cluster.postgres.start();
      const begunMs = performance.now();
      const awayMs = begunMs - killedMs;
      const lag = (await engineSequence(cluster.redis))! - away;
      const sinceThen = watchProcessors();
      const isGone = async (): Promise<boolean> => (await lagOf(cluster)) <= rate * SHARE * FRESH_S;
      await eventually('the lag is gone', isGone, outageMs + PATIENCE_MS, LOOK_MS);
      const goneMs = performance.now() - begunMs;
      const then = sinceThen();
      const perSecond = await flood.stop();
      await flood.judge(violation);
      await flood.close();
      // A short outage is mostly the wait until settlement tries again.
      const isLate = !isShort && goneMs > awayMs / 2;
      const isJudged = !isLate || isAsFast(before, then);
      note(
        `${Math.round(rate)} events a second settled, ${Math.round(perSecond)} placed; ` +
          `lag of ${lag} gone ${seconds(goneMs)} s after ${seconds(awayMs)} s; ` +
          `the host took ${percent(before.stolen)} of the processors at first, ${percent(then.stolen)} then; ` +
          `a fixed piece of work took ${before.workMs.toFixed(2)} ms at first, ${then.workMs.toFixed(2)} ms then` +
          (isJudged ? '' : ', so the time is not judged'),
      );
      if (isLate && isJudged) violation('settlement', `the lag was gone after ${seconds(goneMs)} s`);
      if (perSecond < rate * SHARE * 0.8)
        violation('campaign', `only ${perSecond} orders a second were placed`);
    };
  },
};
