/** Tests this release and the next one on the same servers: side by side, and a rollback. */

import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { loadScript, scriptOf } from '../../../src/redis/lua.ts';
import { ethersSigner } from '../../auth/signers.ts';
import { query } from '../../ledger/tables.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { openRedis } from '../../support/redis-server.ts';
import { freshDatabase, freshRedis } from '../../support/servers.ts';
import { type Call, operate, type Service, signIn, startService } from '../../support/service.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CHANGE = '\n-- the next release\n';

/** Creates the next release: every script has another hash, and there is one additive migration. */
function nextRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-next-'));
  for (const part of ['src', 'lua', 'migrations', 'k8s/shared/users.acl', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const file of readdirSync(join(folder, 'lua'))) {
    if (file.endsWith('.lua')) appendFileSync(join(folder, 'lua', file), CHANGE);
  }
  const up = 'export const up = (knex) => knex.raw("alter table ended_orders add column note text");';
  writeFileSync(join(folder, 'migrations/999_next.ts'), up);
  return folder;
}

describe('two releases', () => {
  const folder = nextRelease();
  const running: Service[] = [];
  let settings: Record<string, string>;
  let redis: Redis;

  const start = async (role: string, from = ROOT): Promise<Service> => {
    const service = await startService(role, { ...settings, PORT: String(await freePort()) }, from);
    running.push(service);
    return service;
  };

  before(async () => {
    settings = {
      REDIS_URL: await freshRedis(),
      DATABASE_URL: await freshDatabase(),
      WEB_HOSTS: 'redbook.example',
      JWT_SECRET: 'a secret of the tests, 32 bytes or more',
      DRAIN_MS: '100',
      LOG_LEVEL: 'warn',
    };
    redis = openRedis(settings.REDIS_URL!);
  });
  after(async () => {
    redis?.disconnect();
    await Promise.all(running.map((service) => service.end('SIGKILL')));
    rmSync(folder, { recursive: true, force: true });
  });

  it('trade at the same time, and the older one starts again on data of the newer one', async () => {
    const older = await start('api');
    const rules = marketRules('1', '1');
    await operate(settings, 'market', 'create', 'ETH/USDC', ...rules, '--fee-bps', '10');
    const signers = { buy: ethersSigner(), sell: ethersSigner() };
    await operate(
      settings,
      'account',
      'credit',
      signers.buy.address,
      'USDC',
      '100000',
      '--reference',
      'usdc',
    );
    await operate(settings, 'account', 'credit', signers.sell.address, 'ETH', '1000', '--reference', 'eth');
    const newer = await start('api', folder);
    const buyer = await signIn(older.url, signers.buy);
    const seller = await signIn(newer.url, signers.sell);

    const place = async (call: Call, side: string): Promise<unknown> => {
      const order = { market: 'ETH/USDC', side, type: 'limit', price: 10, size: 1 };
      const { status, body } = await call('POST', '/v1/orders', order);
      expect(status, JSON.stringify(body)).to.equal(200);
      return body.status;
    };
    /** Each release fills the resting orders of the other. */
    const tradeBothWays = async (first: Service, second: Service): Promise<void> => {
      for (const [resting, taking] of [
        [first, second],
        [second, first],
      ] as const) {
        expect(await place(buyer(resting.url), 'buy')).to.equal('resting');
        expect(await place(seller(taking.url), 'sell')).to.equal('filled');
      }
    };
    await tradeBothWays(older, newer);
    const ours = loadScript('place_orders');
    const theirs = scriptOf('place_orders', `${ours.source}${CHANGE}`);
    expect(await redis.script('EXISTS', ours.sha, theirs.sha)).to.deep.equal([1, 1]);
    await redis.script('FLUSH');
    await tradeBothWays(older, newer);

    await Promise.all(running.map((service) => service.end('SIGTERM')));
    const [again] = await Promise.all([start('api'), start('settlement')]);
    const last = await query<{ name: string }>(
      settings.DATABASE_URL!,
      'select name from knex_migrations order by id desc limit 1',
    );
    expect(last).to.deep.equal([{ name: '999_next' }]);
    await tradeBothWays(again, again);
    expect((await buyer(again.url)('GET', '/v1/trades')).body.trades).to.have.length(6);
    const { holds } = (await operate(settings, 'ledger', 'reconcile')) as { holds: boolean };
    expect(holds).to.equal(true);
  });
});
