/** The rounds of the `http` table, and the rows that are made of them. */

import { type Measured, median } from './figures.ts';
import type { Loaded } from './load.ts';
import type { OlderRelease } from './older-release.ts';

/** A load, and the cost of one of its requests for each process in microseconds and thousands of instructions. */
export interface Costly<Name extends string> extends Loaded {
  readonly micros: Readonly<Record<Name, number>>;
  readonly instructions: Readonly<Record<Name, number | undefined>>;
}

export type OrderCost = Costly<'api' | 'redis'>;
export type HelloCost = Costly<'hello'>;

/** One of each program; undefined if the older release cannot run here. */
export interface Each<One> {
  /** This release as images run it. */
  readonly build: One;
  /** This release from its sources, by tsx, as the older one runs. */
  readonly sources: One;
  readonly older: One | undefined;
}

interface ProgramRound {
  readonly many: OrderCost;
  readonly few: OrderCost;
  readonly cancel: Readonly<Record<'api' | 'redis', number>>;
}

export interface Round extends Each<ProgramRound> {
  readonly launch: number;
  readonly hello: { readonly many: HelloCost; readonly few: HelloCost };
}

/** Requests per second, measured by autocannon. */
export interface CannonRound {
  readonly orders: number;
  readonly hello: number;
}

/** 99th percentile latencies in milliseconds, at the same request rate. */
export interface Tails {
  readonly perSecond: number;
  readonly orders: number;
  readonly hello: number;
}

export function rowOfTails(tails: readonly Tails[]): Measured {
  const perSecond = Math.round(median(tails.map((one) => one.perSecond)));
  return {
    name: `p99 at half of saturation (${perSecond}/s)`,
    unit: 'ms',
    figure: median(tails.map(({ orders }) => orders)),
    reference: { name: 'hello world', figure: median(tails.map(({ hello }) => hello)) },
    target: { relation: '<=', bound: 3, isReported: true },
  };
}

export function rowsOf(rounds: readonly Round[], cannon: readonly CannonRound[]): Measured[] {
  const of = (amount: (round: Round) => number | undefined): number | null =>
    amount(rounds[0]!) === undefined ? null : median(rounds.map((round) => amount(round)!));
  const instructions = (amount: (round: Round) => number | undefined): { note: string } | undefined => {
    const count = of(amount);
    return count === null ? undefined : { note: `${Math.round(count)} ki` };
  };
  const hello = { name: 'hello world', figure: of((round) => round.hello.many.micros.hello) };
  const helloFew = { name: 'hello world at 8', figure: of((round) => round.hello.few.micros.hello) };
  const perSecond = ({ requests, seconds }: Loaded): number => requests / seconds;
  return [
    {
      name: 'api, an order, 64 connections',
      unit: 'µs',
      reference: hello,
      figure: of(({ build }) => build.many.micros.api),
      target: { relation: '<=', bound: 0.5 },
      ...instructions(({ build }) => build.many.instructions.api),
    },
    {
      name: 'api, an order, 8 connections',
      unit: 'µs',
      reference: helloFew,
      figure: of(({ build }) => build.few.micros.api),
      target: { relation: '<=', bound: 0.9 },
      ...instructions(({ build }) => build.few.instructions.api),
    },
    {
      name: 'engine Redis, an order, 64 connections',
      unit: 'µs',
      reference: hello,
      figure: of(({ build }) => build.many.micros.redis),
      target: { relation: '<=', bound: 0.5 },
      ...instructions(({ build }) => build.many.instructions.redis),
    },
    {
      name: 'engine Redis, an order, 8 connections',
      unit: 'µs',
      reference: helloFew,
      figure: of(({ build }) => build.few.micros.redis),
    },
    {
      name: 'api, a cancel, 64 connections',
      unit: 'µs',
      reference: hello,
      figure: of(({ build }) => build.cancel.api),
    },
    {
      name: 'engine Redis, a cancel, 64 connections',
      unit: 'µs',
      reference: hello,
      figure: of(({ build }) => build.cancel.redis),
    },
    {
      ...{
        name: 'orders by the clock, autocannon',
        unit: '/s',
        figure: median(cannon.map(({ orders }) => orders)),
      },
      reference: { name: 'hello world', figure: median(cannon.map((one) => one.hello)) },
      target: { relation: '>=', bound: 0.7, isReported: true },
    },
    {
      name: 'orders by the clock, light client',
      unit: '/s',
      figure: of(({ build }) => perSecond(build.many)),
      reference: { name: 'hello world', figure: of((round) => perSecond(round.hello.many)) },
    },
  ];
}

/**
 * The costs of this release beside those of the older one, which runs from its sources: medians of the launches, and the
 * ratio of each launch.
 */
export function rowsOfReleases(rounds: readonly Round[], { revision, because }: OlderRelease): Measured[] {
  const launches = [...new Set(rounds.map(({ launch }) => launch))].map((launch) =>
    rounds.filter((round) => round.launch === launch),
  );
  type Present = 'build' | 'sources';
  const row = (
    name: string,
    program: Present,
    amount: (one: ProgramRound) => number,
    isReported = false,
  ): Measured => {
    const present = launches.map((all) => median(all.map((round) => amount(round[program]))));
    const target = { relation: '<=', bound: BOUNDS[program], isReported } as const;
    const figures = { name: `${name}, ${NAMES[program]}`, unit: 'µs', figure: median(present), target };
    if (because !== undefined)
      return { ...figures, reference: { name: revision, figure: null }, note: because };
    const older = launches.map((all) => median(all.map((round) => amount(round.older!))));
    const ratios = present.map((figure, launch) => (figure / older[launch]!).toFixed(2));
    return {
      ...figures,
      reference: { name: revision, figure: median(older) },
      note: `of each launch ${ratios.join(' ')}`,
    };
  };
  const both = (name: string, amount: (one: ProgramRound) => number): Measured[] => [
    row(name, 'sources', amount),
    row(name, 'build', amount),
  ];
  return [
    ...both('api, an order, 64 connections', ({ many }) => many.micros.api),
    ...both('api, an order, 8 connections', ({ few }) => few.micros.api),
    ...both('api, a cancel, 64 connections', ({ cancel }) => cancel.api),
    // Its time follows how many orders the api sends together; the table `engine` judges its instructions.
    row('engine Redis, an order, 64 connections', 'sources', ({ many }) => many.micros.redis, true),
  ];
}

const NAMES = { build: 'as images run it', sources: 'by tsx' } as const;
/** tsx makes each named function of a request costlier, so a build takes less. */
const BOUNDS = { build: 0.9, sources: 1 } as const;
