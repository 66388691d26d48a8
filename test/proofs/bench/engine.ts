/**
 * Measures the instructions and processor time that orders cost the engine's Redis. The reference is a no-op script
 * that receives the KEYS and arguments of a placement of revision d855f64. If only callgrind can count instructions,
 * times are measured on the running server and instructions on a copy of its data.
 */

import {
  type Cost,
  cost,
  costsOf,
  openStage,
  type Stage,
  takeRounds,
  WARMING_CALLS,
  type Work,
} from './engine-stage.ts';
import { type Measured, type Table, tableOf } from './figures.ts';
import { findCounter } from './instructions.ts';
import { callNoOp, PLACING } from './no-op.ts';
import { type OlderRelease, PRESENT } from './older-release.ts';

/** Calls in a round of one pass. Under callgrind a call takes about 20 ms. */
const CALLS = { timed: 320, counted: 48 };
const ROUNDS = { timed: 5, counted: 3 };
/** After this many calls, a no-op script no longer collects garbage of the scripts before it. */
const WARMING_NO_OPS = 400;
const ALONE = { together: 1 };
const IN_A_CALL = { together: 16 };
const FILLING = { inFlight: 64 };
const FEW = 1_000;
const MANY = 100_000;
const FULL = 1_000_000;
const DRIVEN = { inFlight: 512 };
const DRIVEN_ORDERS = { timed: 5_120, counted: 640 };
const DRIVEN_ROUNDS = { timed: 5, counted: 1 };
const SWEEPS = 64;

/** Costs of every kind of call. Each round ends with as many resting orders as it began with. */
function costsOfCalls(stage: Stage) {
  const { driver } = stage;
  return costsOf([stage], async ([server], pass) => {
    const calls = CALLS[pass];
    const of = (work: Work) => () => cost(server!, calls, work);
    const noOp = () =>
      cost(server!, calls, (count) => callNoOp(server!.redis, PLACING, count), WARMING_NO_OPS);
    const prepared = (makers: number, work: Work) => async () => {
      await driver.place('maker', makers * (calls + WARMING_CALLS), FILLING);
      return cost(server!, calls, work);
    };
    return takeRounds(ROUNDS[pass], {
      noOp,
      rest: of((count) => driver.place('rest', count, ALONE)),
      cancel: of((count) => driver.cancel(count, ALONE)),
      fill: prepared(1, (count) => driver.place('fill', count, ALONE)),
      five: prepared(5, (count) => driver.place('five', count, ALONE)),
      restTogether: of((count) => driver.place('rest', count, IN_A_CALL)),
      cancelTogether: of((count) => driver.cancel(count, IN_A_CALL)),
      fillTogether: prepared(1, (count) => driver.place('fill', count, IN_A_CALL)),
    });
  });
}

async function restingAt(stage: Stage, resting: number): Promise<Record<'rest' | 'cancel', Cost>> {
  const { driver } = stage;
  await driver.rebuild(resting);
  return costsOf([stage], ([server], pass) =>
    takeRounds(1, {
      rest: () => cost(server!, CALLS[pass], (count) => driver.place('rest', count, ALONE)),
      cancel: () => cost(server!, CALLS[pass], (count) => driver.cancel(count, ALONE)),
    }),
  );
}

/** Cost of one order for each stage with 512 orders always in flight. Half of them rest, half are filled. */
function drivenCosts(stages: readonly Stage[]): Promise<Record<string, Cost>> {
  return costsOf(stages, (servers, pass) =>
    takeRounds(
      DRIVEN_ROUNDS[pass],
      Object.fromEntries(
        stages.map(({ driver }, index) => {
          const work: Work = (count) => driver.place('mixed', count, DRIVEN);
          return [index, () => cost(servers[index]!, DRIVEN_ORDERS[pass], work, DRIVEN_ORDERS.counted)];
        }),
      ),
    ),
  );
}

/** Drives both releases in turn, each on its own new engine. */
async function driveBoth({ folder }: OlderRelease): Promise<[present: Cost, older: Cost | undefined]> {
  const stages: Stage[] = [];
  try {
    for (const project of folder === undefined ? [PRESENT] : [PRESENT, folder]) {
      const stage = await openStage(project);
      stages.push(stage);
      await stage.driver.create();
    }
    const [present, older] = Object.values(await drivenCosts(stages));
    return [present!, older];
  } finally {
    for (const stage of stages) await stage.close();
  }
}

/** Milliseconds of the longest script while orders that match 100 makers each arrive in one turn. */
async function longestScript({ server: { redis }, driver }: Stage): Promise<number> {
  await driver.place('maker', SWEEPS * 100, FILLING);
  await redis.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '10000');
  await redis.call('SLOWLOG', 'RESET');
  await driver.place('sweep', SWEEPS, { together: SWEEPS });
  const entries = (await redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][];
  const scripts = entries.filter(([, , , [command]]) => /^(eval|fcall)/i.test(command!));
  return Math.max(...scripts.map(([, , micros]) => micros)) / 1_000;
}

/** Unit of the rows with targets: instructions if they can be counted, else processor time. */
const decider = (): { readonly unit: string; of(cost: Cost): number } =>
  findCounter() === undefined
    ? { unit: 'µs', of: ({ micros }) => micros }
    : { unit: 'ki', of: ({ instructions }) => instructions! };

const beside = ({ micros }: Cost): string => `${micros.toFixed(1)} µs`;

function rowsOfCalls(costs: Awaited<ReturnType<typeof costsOfCalls>>): Measured[] {
  const { unit, of } = decider();
  const row = (name: string, cost: Cost, bound?: number): Measured => ({
    name,
    unit,
    figure: of(cost),
    note: beside(cost),
    reference: { name: 'no-op of a placement', figure: of(costs.noOp) },
    ...(bound === undefined ? {} : { target: { relation: '<=', bound } }),
  });
  // Single orders have no target: an engine under load gets several orders in a call, and sixteen share its fixed cost.
  return [
    row('rest', costs.rest),
    row('one fill', costs.fill),
    row('five fills', costs.five),
    row('cancel', costs.cancel),
    row('rest, 16 in a call, each', costs.restTogether, 4),
    row('one fill, 16 in a call, each', costs.fillTogether, 5),
    row('cancel, 16 in a call, each', costs.cancelTogether),
  ];
}

function rowOfGrowth(name: string, few: Cost, full: Cost, bound: number): Measured {
  const { unit, of } = decider();
  return {
    name: `${name} at 1,000,000 resting orders`,
    unit,
    figure: of(full),
    note: beside(full),
    reference: { name: 'at 1,000', figure: of(few) },
    target: { relation: '<=', bound },
  };
}

/** Orders per second of the server's processor time, for both releases. */
function rowsOfDriving(
  present: Cost,
  older: Cost | undefined,
  { revision, because }: OlderRelease,
): Measured[] {
  const name = '512 in flight, half rest, half fill';
  const byTime = ({ micros }: Cost): number => 1e6 / micros;
  const byInstructions = ({ instructions }: Cost): number => 1e6 / instructions!;
  const row = (unit: string, of: (cost: Cost) => number): Measured => ({
    name,
    unit,
    figure: of(present),
    reference: { name: revision, figure: older === undefined ? null : of(older) },
    ...(because === undefined ? {} : { note: because }),
  });
  const target = { relation: '>=', bound: 0.97 } as const;
  if (findCounter() === undefined) return [{ ...row('orders/s', byTime), target }];
  return [{ ...row('orders/Gi', byInstructions), target }, row('orders/s', byTime)];
}

export async function benchEngine(older: OlderRelease): Promise<Table> {
  const stage = await openStage(PRESENT);
  const measure = async () => {
    const few = await restingAt(stage, FEW);
    const full = await restingAt(stage, FULL);
    await stage.driver.rebuild(MANY);
    return { few, full, costs: await costsOfCalls(stage), longest: await longestScript(stage) };
  };
  const { few, full, costs, longest } = await measure().finally(() => stage.close());
  const [present, before] = await driveBoth(older);
  const counter = findCounter();
  const decides = counter === undefined ? 'processor time' : `instructions (${counter})`;
  const title = `${MANY.toLocaleString('en-US')} resting orders; decided by ${decides} of the server, medians`;
  return tableOf('engine', title, [
    ...rowsOfCalls(costs),
    rowOfGrowth('rest', few.rest, full.rest, 1.2),
    rowOfGrowth('cancel', few.cancel, full.cancel, 1.5),
    ...rowsOfDriving(present, before, older),
    { name: 'longest script, 64 orders of 100 makers each in one turn', unit: 'ms', figure: longest },
  ]);
}
