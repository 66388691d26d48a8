/** Streams: each screen comes to show the book as it is. */

import { eventually } from '../../../support/eventually.ts';
import { bestPrices } from './books.ts';
import { type Rest, told } from './rest.ts';

/** Failures are expected of a machine that runs much else: a frame is due every two seconds. */
const PATIENCE_MS = 30_000;

export async function screensAreTrue({ cluster, screens }: Rest): Promise<string[]> {
  const best = await bestPrices(cluster);
  const behind = (): string[] =>
    screens.all.flatMap(({ port, symbol, shown }) => {
      const [now, expected] = [shown(), best(symbol)];
      const isTrue = now !== undefined && now.bid === expected.bid && now.ask === expected.ask;
      const words = now === undefined ? 'nothing' : `${now.bid} and ${now.ask}`;
      return isTrue
        ? []
        : [`port ${port} shows ${words} in ${symbol}, best are ${expected.bid} and ${expected.ask}`];
    });
  try {
    await eventually('screens show the book', () => behind().length === 0, PATIENCE_MS);
    return [];
  } catch {
    return told(behind());
  }
}
