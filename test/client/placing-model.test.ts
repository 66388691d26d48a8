/**
 * Proves that placing never reports a false outcome over a faulty network, in 1,000 seeded cases on a virtual clock.
 * `MODEL_CASES` sets another number of cases.
 */

import { expect } from 'chai';
import { openConnection, place, RedbookError, restoreSession } from '../../src/client/index.ts';
import { drawFate, FAULT_COUNT, type FateKind } from '../support/fates.ts';
import { random, runSeed } from '../support/seed.ts';
import { type DrawnOrder, drawOrder } from './drawn-orders.ts';
import { FaultyNetwork, type Sighting } from './faulty-network.ts';
import { judge, type Report } from './judging.ts';
import { OrderRoute } from './order-route.ts';
import { setClock } from './set-clock.ts';
import { virtualClock } from './virtual-clock.ts';

const CASES = Number(process.env.MODEL_CASES ?? 1_000);
/** Time at which the faults end in some cases, and time after which a look-up must find an order that has arrived. */
const MENDED_AT_MS = 4_000;
const FOUND_FROM_MS = 9_000;
const MINUTE_MS = 60_000;
const ADDRESS = `0x${'a1'.repeat(20)}`;

interface Tally {
  readonly outcomes: Map<string, number>;
  readonly fates: Set<FateKind>;
  sentAgain: number;
  looked: number;
}

const count = (tally: Map<string, number>, name: string): void => {
  tally.set(name, (tally.get(name) ?? 0) + 1);
};

const isSending = ({ request }: Sighting): boolean => request.body?.includes('"market"') ?? false;

function errorBeforeSending(error: unknown): RedbookError {
  if (error instanceof RedbookError && error.outcome === 'refused') return error;
  throw error;
}

/** Runs one case: places an order and finally compares the books with the reported outcome. */
async function playCase(number: number, tally: Tally): Promise<void> {
  const draw = random(Math.imul(runSeed(), 10_007) + Math.imul(number, 0x9e3779b1));
  const clock = virtualClock();
  const startedAt = clock.now();
  const aheadMs = draw.pick([0, 0, -30_000, 30_000, 3_600_000, -3_600_000]);
  const route = new OrderRoute(draw, () => clock.now(), undefined, aheadMs);
  const faultiness = draw.pick([0, 0.5, 0.9]);
  const isMended = draw.chance(0.4);
  const prompts = draw.chance(0.3);
  const isDoubled = draw.chance(0.2);
  const network = new FaultyNetwork(clock, route, () => {
    if (isDoubled && network.sightings.length === 0) return { kind: 'repeat answer' };
    const isQuiet = isMended && clock.now() - startedAt >= MENDED_AT_MS;
    return drawFate(draw, isQuiet ? 0 : faultiness);
  });
  const fill = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = draw.below(256);
  };
  const isSet = draw.chance(0.3);
  const isRunning = draw.chance(0.5);
  const shown = isSet ? setClock(clock, draw, isRunning) : clock;
  const connection = openConnection({
    baseUrl: 'http://model',
    fetch: network.fetch,
    clock: shown,
    random: fill,
  });
  const signer = { address: ADDRESS, prompts, signTypedData: async () => '0x' };
  const session = restoreSession(connection, route.signIn(ADDRESS), signer);

  const reports: Report[] = [];
  const orders: DrawnOrder[] = [drawOrder(draw, number)];
  // A duplicated answer may then be delivered to the other order.
  if (isDoubled || draw.chance(0.2))
    orders.push({ ...drawOrder(draw, number), clientOrderId: 'the second order' } as DrawnOrder);
  for (const order of orders) {
    const isUsed = draw.chance(0.1);
    if (isUsed)
      route.record(
        { ...order, size: '7' } as DrawnOrder,
        draw.pick(['resting', 'filled', 'cancelled', 'rejected']),
      );
    const from = network.sightings.length;
    const onLookup = (): void => {
      tally.looked += 1;
    };
    const placed = await clock.until(place(session, order, { onLookup }).catch(errorBeforeSending));
    if (placed instanceof RedbookError) {
      // A wrong clock makes a session renew itself before the first answer.
      expect([isSet, network.sightings.slice(from).some(isSending)]).to.deep.equal([true, false]);
      continue;
    }
    const seen = network.sightings.slice(from);
    const sendings = seen
      .filter(isSending)
      .map(({ atMs, answeredStatus }) => ({ atMs, ...(answeredStatus !== undefined && { answeredStatus }) }));
    reports.push({ order, placed, sendings, isUsed });
    if (placed.outcome === 'refused' && placed.error.code === 'BAD_REQUEST')
      console.log(
        number,
        isSet,
        isRunning,
        aheadMs,
        clock.now(),
        JSON.stringify(seen.map((s) => [s.atMs, s.fate, s.answeredStatus, s.request.body])),
      );
    if (placed.outcome === 'refused')
      expect(placed.error.code, 'no deadline refuses an order that the service had in time').to.not.equal(
        'BAD_REQUEST',
      );
    if (faultiness === 0 && !isDoubled && !seen.some(({ answeredStatus }) => answeredStatus === 503))
      expect(placed.outcome, 'nothing went wrong').to.not.equal('unknown');
    const recordedAt = route.recordedAt.get(order.clientOrderId);
    // A session renews itself at once after the first refusal of its token, and a minute after the next one. A look-up
    // does not wait for a renewal whose own answers are lost.
    const endings = network.sightings.filter(({ fate }) => fate === 'end session').length;
    const isSignedIn = network.sightings.every(
      ({ request, fate }) => fate === 'pass' || !request.path.startsWith('/v1/auth/'),
    );
    const mustBeFound =
      isMended &&
      !isSet &&
      endings < 2 &&
      isSignedIn &&
      !prompts &&
      order === orders[0] &&
      recordedAt !== undefined &&
      recordedAt - startedAt < FOUND_FROM_MS;
    if (mustBeFound) expect(placed.outcome, 'the last look-up passes').to.not.equal('unknown');
    count(tally.outcomes, placed.outcome);
    if (sendings.length > 1) tally.sentAgain += 1;
  }
  await clock.pass(MINUTE_MS);
  for (const report of reports) judge(report, route.orders.get(report.order.clientOrderId)?.status);
  expect(route.orders.size, 'orders in the books').to.be.at.most(orders.length);
  for (const { fate } of network.sightings) tally.fates.add(fate);
}

const AT_ONCE = 100;

async function playNamed(number: number, tally: Tally): Promise<void> {
  try {
    await playCase(number, tally);
  } catch (error) {
    throw new Error(`case ${number} of seed ${runSeed()}: ${(error as Error).message}`, { cause: error });
  }
}

describe('placing over a faulty network', () => {
  it(`never reports a false outcome in ${CASES} cases`, async function () {
    this.timeout(MINUTE_MS);
    const tally: Tally = { outcomes: new Map(), fates: new Set(), sentAgain: 0, looked: 0 };
    // Runs many cases concurrently, because each has its own clock and mostly waits.
    for (let first = 0; first < CASES; first += AT_ONCE) {
      const numbers = Array.from({ length: Math.min(AT_ONCE, CASES - first) }, (_, index) => first + index);
      await Promise.all(numbers.map((number) => playNamed(number, tally)));
    }
    console.log(
      `      seed ${runSeed()}: ${JSON.stringify(Object.fromEntries(tally.outcomes))}, ${tally.sentAgain} sent again`,
    );
    for (const outcome of ['placed', 'refused', 'duplicate', 'unknown'])
      expect(tally.outcomes.get(outcome), outcome).to.be.at.least(CASES / 50);
    expect(tally.fates.size).to.equal(FAULT_COUNT);
    expect(tally.sentAgain).to.be.at.least(CASES / 50);
  });
});
