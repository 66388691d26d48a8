/**
 * Measures movements per second of one custody system on one operator-api process: one request after the other, with one
 * movement or with 64. Redis and Postgres are real and durable, and settlement does not run.
 */

import { createHash } from 'node:crypto';
import { openLedger } from '../../../src/ledger/index.ts';
import { walletOf } from './driver-wallets.ts';
import { openExchange } from './exchange.ts';
import { median, type Table, tableOf } from './figures.ts';
import { load } from './load.ts';
import { PRESENT } from './older-release.ts';

const ROUNDS = 3;
const SECONDS = 2;
const KEY = `rbk_${'bench'.padEnd(43, '-')}`;

/** Movements of a request, and the target in movements per second on two processors. */
const REQUESTS = [
  { size: 64, target: 5_000 },
  { size: 1, target: 600 },
] as const;

let serial = 0;

function nextRequest(size: number): string {
  const movements = Array.from({ length: size }, () => {
    serial += 1;
    const wallet = walletOf(serial % 1_000);
    return {
      reference: `bench ${serial}`,
      kind: 'deposit',
      wallet,
      asset: 'USDC',
      amount: '1',
      reason: 'bench',
    };
  });
  const body = JSON.stringify({ movements });
  return [
    'POST /operator/v1/movements HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}

export async function benchCustody(): Promise<Table> {
  const exchange = await openExchange(PRESENT);
  const ledger = openLedger({ databaseUrl: exchange.databaseUrl });
  try {
    await ledger.migrate();
    const digest = createHash('sha256').update(KEY).digest();
    await ledger.keys.add({ name: 'bench', rights: ['credit'], caps: {}, twoPersons: {}, digest });
    const { url } = await exchange.start('operator-api');
    const rows = [];
    for (const { size, target } of REQUESTS) {
      const figures: number[] = [];
      for (let round = 0; round <= ROUNDS; round += 1) {
        const onAnswer = (answer: string): void => {
          if (answer.split('"status":201').length !== size + 1)
            throw new Error(`answered ${answer.slice(0, 300)}`);
        };
        const { requests, seconds } = await load(url, {
          connections: 1,
          seconds: SECONDS,
          nextRequest: () => nextRequest(size),
          onAnswer,
        });
        // The first round warms up.
        if (round > 0) figures.push((requests / seconds) * size);
      }
      rows.push({
        name: size === 1 ? 'movements, one a request' : `movements, ${size} a request`,
        unit: '/s',
        figure: median(figures),
        target: { relation: '>=', bound: target, isReported: true },
      } as const);
    }
    return tableOf('custody', 'Movements of one client', rows);
  } finally {
    await ledger.close();
    await exchange.close();
  }
}
