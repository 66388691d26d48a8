/** Tests the role operator-api as a process: its port, its probes and its metrics. */

import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';
import { isReady, launchService, operate } from '../support/service.ts';

describe('the role operator-api', () => {
  it('serves operators on OPERATOR_PORT with the rights of its users, and nothing on PORT', async function () {
    this.timeout(60_000);
    const [port, operatorPort] = [await freePort(), await freePort()];
    const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: await freshLedgerDatabase() };
    const ports = { PORT: String(port), OPERATOR_PORT: String(operatorPort) };
    const service = await launchService('operator-api', { ...settings, ...ports });
    const url = `http://127.0.0.1:${operatorPort}`;
    try {
      await eventually('it is ready', () => isReady(url), 30_000);
      await operate(settings, 'asset', 'set', 'USDC', '--scale', '6');
      const made = (await operate(
        settings,
        ...['key', 'create', 'vault', '--may', 'credit,debit,read', '--cap', 'USDC=10/day'],
      )) as { key: string };
      const ask = async (path: string, body?: object): Promise<{ status: number; body: never }> => {
        const response = await fetch(`${url}${path}`, {
          method: body === undefined ? 'GET' : 'POST',
          headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status: response.status, body: (await response.json()) as never };
      };
      const wallet = `0x${'a'.repeat(40)}`;
      const movement = (reference: string) => ({
        movements: [{ reference, kind: 'deposit', wallet, asset: 'USDC', amount: '6', reason: 'a test' }],
      });
      const answers = [];
      for (const reference of ['first', 'first', 'second']) {
        const { body } = await ask('/operator/v1/movements', movement(reference));
        answers.push((body as { results: { status: number }[] }).results[0]!.status);
      }
      expect(answers).to.deep.equal([201, 200, 403]);
      const status = (await ask('/operator/v1/status')).body as { replicas: object };
      expect(status.replicas).to.deep.equal({ 'operator-api': 1 });
      for (const path of ['/v1/markets', '/', '/docs', '/ws']) expect((await ask(path)).status).to.equal(404);
      await fetch(`http://127.0.0.1:${port}/livez`).then(
        () => expect.fail('PORT is open'),
        () => undefined,
      );
    } finally {
      await service.end('SIGKILL');
    }
  });
});
