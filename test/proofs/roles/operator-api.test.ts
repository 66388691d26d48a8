/** Tests the role operator-api as a process: its port, its probes and its metrics. */

import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { isReady, launchService, operate } from '../../support/service.ts';

describe('the role operator-api', () => {
  it('serves operators on OPERATOR_PORT with the rights of its users, and nothing on PORT', async () => {
    const port = await freePort();
    const operatorPort = await freePort();
    const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: await freshLedgerDatabase() };
    const ports = { PORT: String(port), OPERATOR_PORT: String(operatorPort) };
    const service = await launchService('operator-api', { ...settings, ...ports });
    const url = `http://127.0.0.1:${operatorPort}`;
    try {
      await eventually('it is ready', () => isReady(url));
      await operate(settings, 'asset', 'set', 'USDC', '--scale', '6');
      const made = (await operate(
        settings,
        'key',
        'create',
        'vault',
        '--may',
        'credit,debit,read',
        '--cap',
        'USDC=10/day',
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
      expect((await fetch(`${url}/`)).headers.get('content-security-policy')).to.include(
        "connect-src 'self';",
      );
      for (const path of ['/v1/markets', '/web/main.js', '/docs', '/ws'])
        expect((await ask(path)).status).to.equal(404);
      await fetch(`http://127.0.0.1:${port}/livez`).then(
        () => expect.fail('PORT is open'),
        () => undefined,
      );
    } finally {
      await service.end('SIGKILL');
    }
  });

  it('ends each withdrawal once, however often it is killed between the steps', async () => {
    const port = await freePort();
    const operatorPort = await freePort();
    const settlementPort = await freePort();
    const settings = { REDIS_URL: await freshRedis(), DATABASE_URL: await freshLedgerDatabase() };
    const ports = { PORT: String(port), OPERATOR_PORT: String(operatorPort) };
    const url = `http://127.0.0.1:${operatorPort}`;
    const settlement = await launchService('settlement', { ...settings, PORT: String(settlementPort) });
    let service = await launchService('operator-api', { ...settings, ...ports });
    try {
      await eventually('it is ready', () => isReady(url));
      const wallet = `0x${'b'.repeat(40)}`;
      await operate(settings, 'asset', 'set', 'USDC', '--scale', '6');
      await operate(settings, 'account', 'credit', wallet, 'USDC', '50', '--reference', 'first');
      const { key } = (await operate(settings, 'key', 'create', 'vault', '--may', 'debit,pay,read')) as {
        key: string;
      };
      const post = (path: string, body: object) =>
        fetch(`${url}/operator/v1/withdrawals${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const reason = 'a test';
      const names = [1, 2, 3, 4, 5, 6].map((at) => `w-${at}`);
      const steps = [
        (reference: string) => post('', { reference, wallet, asset: 'USDC', amount: '2.5', reason }),
        (reference: string, at: number) =>
          at % 2 === 0
            ? post(`/${reference}/confirm`, { txid: reference })
            : post(`/${reference}/return`, { reason }),
      ];
      for (const step of steps) {
        // The process is killed while it carries the requests out: nobody knows which of them were.
        const lost = names.map((name, at) => step(name, at).catch(() => undefined));
        await lost[0];
        await service.end('SIGKILL');
        await Promise.all(lost);
        service = await launchService('operator-api', { ...settings, ...ports });
        await eventually('it is ready again', () => isReady(url));
        const again = await Promise.all(names.map(step));
        for (const { status } of again) expect(status).to.be.oneOf([200, 201]);
        const third = await Promise.all(names.map(step));
        expect(third.map(({ status }) => status)).to.deep.equal(names.map(() => 200));
      }
      const other = await Promise.all(names.map((name, at) => steps[1]!(name, at + 1)));
      expect(other.map(({ status }) => status)).to.deep.equal(names.map(() => 409));
      const confirmed = await fetch(`${url}/operator/v1/withdrawals?state=confirmed`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const listed = (await confirmed.json()) as { withdrawals: { reference: string }[] };
      expect(listed.withdrawals.map(({ reference }) => reference)).to.have.members(['w-1', 'w-3', 'w-5']);
      const shown = (await operate(settings, 'account', 'show', wallet)) as { balances: object[] };
      expect(shown.balances[0]).to.include({ total: '42.5', available: '42.5' });
      const books = (await operate(settings, 'ledger', 'reconcile')) as { holds: boolean };
      expect(books.holds).to.equal(true);
    } finally {
      await service.end('SIGKILL');
      await settlement.end('SIGKILL');
    }
  });
});
