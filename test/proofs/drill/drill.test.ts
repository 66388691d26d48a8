/**
 * Proves on a small cluster that no request, order or beat is lost while one process of each role is replaced and one
 * is killed under load.
 */

import { connect } from 'node:net';
import { expect } from 'chai';
import { obtainHaproxy } from '../../support/haproxy-binary.ts';
import { runSeed } from '../../support/seed.ts';
import { type Outcome, runDrill } from './drill.ts';
import { type Check, checksOf, tablesOf } from './table.ts';

/** Returns true if all of 127.0.0.0/8 is this machine, because each wallet connects from its own address. */
const hasManyAddresses = (): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: 9, localAddress: '127.0.1.1' });
    socket
      .once('connect', () => resolve(true))
      .once('error', ({ message }) => resolve(!message.includes('EADDRNOTAVAIL')));
    socket.once('close', () => socket.destroy());
  });

describe('a cluster behind its balancer', function () {
  this.timeout(240_000);
  let outcome: Outcome;
  let checks: Check[];

  before(async function () {
    const reason = await obtainHaproxy().then(
      async () => ((await hasManyAddresses()) ? undefined : 'this system has one loopback address only'),
      (error: Error) => error.message,
    );
    if (reason !== undefined) {
      console.log(`      NOT PROVEN HERE, skipped: ${reason}`);
      return this.skip();
    }
    outcome = await runDrill(
      {
        ...{ seconds: 0, seed: runSeed(), wallets: 8, perSecond: 30, drainMs: 4_000 },
        replicas: { api: 2, stream: 2, settlement: 1, snapshot: 2 },
        ...{ rounds: 1, scales: false, hurries: true, failovers: 0 },
      },
      () => undefined,
    );
    checks = checksOf(outcome, 0);
  });

  it('loses no request, no order and no beat while processes are replaced and killed', () => {
    const broken = checks.filter(({ holds }) => !holds).map(({ what, seen }) => `${what}: ${seen}`);
    expect(broken, `${tablesOf(outcome, checks)}\n${outcome.processes.output()}`).to.deep.equal([]);
  });
});
