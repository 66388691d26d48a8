/** A real engine and ledger, a settlement that a test can pause, and commands run as a shell would run them. */

import { Writable } from 'node:stream';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { parseDecimal } from '../../src/domain/units.ts';
import { type Engine, openEngine, type Placement } from '../../src/engine/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { type OperatorServices, runOperator } from '../../src/operator/command-line.ts';
import { openExchange } from '../support/exchange.ts';
import { LIMITS } from '../support/limits.ts';
import { openRedis } from '../support/redis-server.ts';
import { freshRedis } from '../support/servers.ts';

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Captures everything written to it as text. */
export class Capture extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface OperatorFixture {
  /** Direct access to Redis. */
  readonly redis: Redis;
  /** The connection of the commands. */
  readonly operating: Redis;
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  services: OperatorServices;
  /** Number of times that services were opened and closed. */
  readonly opened: { times: number; closed: number };
  run(...argv: string[]): Promise<Outcome>;
  /** As `run --json`, which must succeed; the document. */
  // biome-ignore lint/suspicious/noExplicitAny: a document of any shape, which the test looks into
  ask(...argv: string[]): Promise<any>;
  /** Runs a command with `--json` that must be refused; returns the code. */
  refuse(...argv: string[]): Promise<string>;
  settle(): Promise<void>;
  /** Settles continuously until it is stopped. */
  settleOnAndOn(): { stop(): Promise<void> };
  place(order: Partial<OrderInWords> & { wallet: string }): Promise<Placement & { outcome: 'placed' }>;
  close(): Promise<void>;
}

interface OrderInWords {
  wallet: string;
  market: string;
  side: 'buy' | 'sell';
  price: string;
  size: string;
  clientOrderId: string | null;
}

export const WALLET = (digit: number | string): string => `0x${String(digit).repeat(40)}`;

export interface FixtureOptions {
  /** Size of the claim filter in the settings of all processes. */
  readonly claimFilterBytes?: number;
  /** A migrated database; a new one of the run's Postgres unless given. */
  readonly databaseUrl?: string | undefined;
}

export async function openOperatorFixture(options: FixtureOptions = {}): Promise<OperatorFixture> {
  const { claimFilterBytes = LIMITS.claimFilterBytes } = options;
  const redisUrl = await freshRedis();
  const redis = openRedis(redisUrl);
  const operating = openRedis(redisUrl, 'engine-operator');
  const exchange = await openExchange({
    redisUrl,
    databaseUrl: options.databaseUrl,
    claimFilterBytes,
  });
  const { engine, ledger, databaseUrl } = exchange;
  const operatorsEngine = openEngine({ redis: operating, ...LIMITS, claimFilterBytes });
  await operatorsEngine.lifecycle.open(await ledger.settlement.cursor());
  const opened = { times: 0, closed: 0 };
  const services: OperatorServices = {
    engine: operatorsEngine,
    ledger,
    networkId: '31337',
    close: async () => {
      opened.closed += 1;
    },
  };

  const run = async (...argv: string[]): Promise<Outcome> => {
    const out = new Capture();
    const err = new Capture();
    const open = async (): Promise<OperatorServices> => {
      opened.times += 1;
      return fixture.services;
    };
    const status = await runOperator(argv, open, { out, err });
    return { status, stdout: out.text, stderr: err.text };
  };

  const settle = (): Promise<void> => exchange.settle({ trims: false });

  const fixture: OperatorFixture = {
    redis,
    operating,
    engine,
    ledger,
    redisUrl,
    databaseUrl,
    services,
    opened,
    run,
    settle,
    ask: async (...argv) => {
      const { status, stdout, stderr } = await run(...argv, '--json');
      expect(status, stderr + stdout).to.equal(0);
      expect(stderr).to.equal('');
      return JSON.parse(stdout);
    },
    refuse: async (...argv) => {
      const { status, stdout, stderr } = await run(...argv, '--json');
      expect(status, stdout).to.equal(1);
      expect(stdout).to.equal('');
      const refusal = JSON.parse(stderr);
      expect(Object.keys(refusal)).to.deep.equal(['error', 'code']);
      return refusal.code;
    },
    settleOnAndOn: () => {
      let stopping = false;
      const running = (async () => {
        while (!stopping) {
          await settle();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      })();
      return {
        stop: async () => {
          stopping = true;
          await running;
          // The last run may have begun before the last event.
          await settle();
        },
      };
    },
    place: async ({ wallet, ...words }) => {
      const order: Omit<OrderInWords, 'wallet'> = {
        market: 'ETH/USDC',
        side: 'buy',
        price: '2000',
        size: '1',
        clientOrderId: null,
        ...words,
      };
      const placement = await engine.orders.place({
        wallet,
        request: {
          ...order,
          type: 'limit',
          price: parseDecimal(order.price),
          size: parseDecimal(order.size),
          timeInForce: 'GTC',
          postOnly: false,
          reduceOnly: false,
          leverage: null,
        },
      });
      if (placement.outcome !== 'placed') throw new Error(placement.outcome);
      return placement;
    },
    close: async () => {
      for (const connection of [redis, operating]) connection.disconnect();
      await exchange.close();
    },
  };
  return fixture;
}

/** Arguments of `market create`. */
export const marketRules = (changes: Record<string, string> = {}): string[] =>
  Object.entries({
    'tick-size': '0.01',
    'size-step': '0.001',
    'min-order-size': '0.01',
    'max-order-size': 'null',
    'fee-bps': '10',
    ...changes,
  }).flatMap(([name, value]) => [`--${name}`, value]);
