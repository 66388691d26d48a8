/**
 * Proves that two workers pay each withdrawal at most once, and none that is returned, while they and the servers are
 * killed between take, payment and confirmation.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { type Random, random, runSeed } from '../../support/seed.ts';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { isReady, launchService, operate } from '../../support/service.ts';

const WALLET = `0x${'c'.repeat(40)}`;
const WITHDRAWALS = 60;
const KILLS = 4;
const reason = 'a test';

interface Listed {
  readonly reference: string;
  readonly taken: { readonly by: string } | null;
}

/** The service as a worker sees it: an answer may be lost. */
type Ask = (path: string, body?: object) => Promise<{ status: number; body: never } | undefined>;

/** The chain, which takes whatever it is sent. */
type Chain = Map<string, string[]>;

/** Ends a worker at this place as a kill would. Its next life knows its name and the chain, and nothing else. */
class Killed extends Error {}

class Worker {
  readonly #name: string;
  readonly #ask: Ask;
  readonly #chain: Chain;
  readonly #dice: Random;
  kills = 0;

  constructor(name: string, parts: { ask: Ask; chain: Chain; dice: Random }) {
    this.#name = name;
    this.#ask = parts.ask;
    this.#chain = parts.chain;
    this.#dice = parts.dice;
  }

  /** Works until nothing is pending, in as many lives as it takes. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#live().catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        this.kills += 1;
      });
      await sleep(1 + this.#dice.below(20));
    }
  }

  async #live(): Promise<void> {
    const listed = await this.#ask('/withdrawals?state=pending&limit=500');
    if (listed?.status !== 200) return;
    for (const { reference, taken } of (listed.body as { withdrawals: Listed[] }).withdrawals) {
      if (taken !== null && taken.by !== this.#name) continue;
      if (await this.#take(reference)) await this.#pay(reference);
    }
  }

  async #take(reference: string): Promise<boolean> {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const answer = await this.#ask(`/withdrawals/${reference}/take`, { by: this.#name, until });
    this.#mayDie();
    return answer?.status === 200;
  }

  /** Pays what it has taken, unless its earlier life did. */
  async #pay(reference: string): Promise<void> {
    const paid = this.#chain.get(reference) ?? [];
    const txid = paid.find((one) => one.startsWith(this.#name)) ?? `${this.#name}-${reference}`;
    if (!paid.includes(txid)) {
      if (this.#dice.below(6) === 0) {
        await this.#ask(`/withdrawals/${reference}/release`, { by: this.#name, reason });
        return;
      }
      this.#chain.set(reference, [...paid, txid]);
    }
    this.#mayDie();
    await this.#ask(`/withdrawals/${reference}/confirm`, { txid, by: this.#name });
    this.#mayDie();
  }

  #mayDie(): void {
    if (this.#dice.below(5) === 0) throw new Killed();
  }
}

describe('two workers of a custody system', () => {
  it('pay each withdrawal once, and none that a person returns, however often all are killed', async function () {
    this.timeout(240_000);
    const port = await freePort();
    const settlementPort = await freePort();
    const ports = [await freePort(), await freePort()];
    const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: await freshLedgerDatabase() };
    const settlement = await launchService('settlement', { ...settings, PORT: String(settlementPort) });
    const launch = (at: number) =>
      launchService('operator-api', { ...settings, PORT: String(port), OPERATOR_PORT: String(ports[at]) });
    const services = [await launch(0), await launch(1)];
    const url = (at: number): string => `http://127.0.0.1:${ports[at]}`;
    const isUp = (at: number): Promise<void> =>
      eventually(`operator-api ${at} is ready`, () => isReady(url(at)));
    try {
      await Promise.all([isUp(0), isUp(1)]);
      await operate(settings, 'asset', 'set', 'USDC', '--scale', '6');
      await operate(settings, 'account', 'credit', WALLET, 'USDC', '1000', '--reference', 'first');
      const { key } = (await operate(settings, 'key', 'create', 'vault', '--may', 'debit,pay,read')) as {
        key: string;
      };
      const asking =
        (at: number): Ask =>
        async (path, body) => {
          const method = body === undefined ? 'GET' : 'POST';
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
          const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
          const response = await fetch(`${url(at)}/operator/v1${path}`, sent).catch(() => undefined);
          const read = (await response?.json().catch(() => undefined)) as never;
          return response && read && { status: response.status, body: read };
        };
      const names = Array.from({ length: WITHDRAWALS }, (_none, at) => `w-${at}`);
      for (const reference of names) {
        const asked = { reference, wallet: WALLET, asset: 'USDC', amount: '2.5', reason };
        expect((await asking(0)('/withdrawals', asked))?.status).to.equal(201);
      }
      const chain: Chain = new Map();
      const dice = random(runSeed());
      const workers = [0, 1].map(
        (at) => new Worker(`worker-${at}`, { ask: asking(at), chain, dice: random(dice.below(2 ** 31)) }),
      );
      let isOver = false;
      const running = workers.map((worker) => worker.run(() => isOver));
      // A person returns what seems to be unpaid.
      const person = async (): Promise<void> => {
        while (!isOver) {
          await asking(dice.below(2))(`/withdrawals/${names[dice.below(WITHDRAWALS)]}/return`, { reason });
          await sleep(30);
        }
      };
      running.push(person());
      for (let kill = 0; kill < KILLS; kill += 1) {
        const at = kill % 2;
        await services[at]!.end('SIGKILL');
        services[at] = await launch(at);
        await isUp(at);
      }
      const pending = async (): Promise<number> => {
        const answer = await asking(0)('/withdrawals?state=pending');
        return answer?.status === 200 ? (answer.body as { withdrawals: [] }).withdrawals.length : 1;
      };
      await eventually('nothing is pending', async () => (await pending()) === 0, 90_000);
      isOver = true;
      await Promise.all(running);

      const states = { confirmed: 0, returned: 0 };
      for (const reference of names) {
        const { body } = (await asking(1)(`/withdrawals/${reference}`))!;
        const { state, txid } = body as { state: 'confirmed' | 'returned'; txid: string | null };
        states[state] += 1;
        const paid = chain.get(reference) ?? [];
        expect(paid, reference).to.deep.equal(state === 'confirmed' ? [txid] : []);
      }
      expect(states.confirmed).to.be.above(0);
      expect(Math.min(...workers.map(({ kills }) => kills))).to.be.above(0);
      const shown = (await operate(settings, 'account', 'show', WALLET)) as { balances: { total: string }[] };
      expect(Number(shown.balances[0]!.total)).to.equal(1000 - 2.5 * states.confirmed);
      const books = (await operate(settings, 'ledger', 'reconcile')) as { holds: boolean };
      expect(books.holds).to.equal(true);
    } finally {
      for (const service of [...services, settlement]) await service.end('SIGKILL');
    }
  });
});
