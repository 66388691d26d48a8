/**
 * Proves on a small cluster that no request, order or beat is lost while one process of each role is replaced, replicas
 * are added and removed, and one process of each role is killed under load.
 */

import { connect } from 'node:net';
import { expect } from 'chai';
import { obtainHaproxy } from '../../support/haproxy-binary.ts';
import { runSeed } from '../../support/seed.ts';
import { runCommand } from '../run-command.ts';

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

  before(async function () {
    const reason = await obtainHaproxy().then(
      async () => ((await hasManyAddresses()) ? undefined : 'this system has one loopback address only'),
      (error: Error) => error.message,
    );
    if (reason === undefined) return;
    console.log(`      NOT PROVEN HERE, skipped: ${reason}`);
    this.skip();
  });

  it('loses no request, no order and no beat while processes are replaced, added and killed', async () => {
    const { code, output } = await runCommand('drill', '--small', '--seed', String(runSeed()));
    expect(code, output).to.equal(0);
  });
});
