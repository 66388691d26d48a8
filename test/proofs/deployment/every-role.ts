/**
 * Runs one process of each role on one Redis and Postgres, produces some activity of every kind, and reads `/metrics`.
 */

import { ethersSigner } from '../../auth/signers.ts';
import { eventually } from '../../support/eventually.ts';
import { marketRules } from '../../support/market-spec.ts';
import { freePort } from '../../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../../support/servers.ts';
import { operate, type Service, signIn, startService } from '../../support/service.ts';

const ROLES = ['api', 'stream', 'settlement', 'snapshot'] as const;
export type Role = (typeof ROLES)[number];

/** The text of `/metrics` by role. */
export async function metricsOfEveryRole(): Promise<Readonly<Record<Role, string>>> {
  const settings = {
    REDIS_URL: await freshRedis(),
    DATABASE_URL: await freshLedgerDatabase(),
    JWT_SECRET: 'x'.repeat(32),
    WEB_HOSTS: 'localhost',
    LOG_LEVEL: 'silent',
    DRAIN_MS: '0',
  };
  const start = async (role: Role): Promise<Service> =>
    startService(role, { ...settings, PORT: String(await freePort()) });
  const starting = ROLES.map(start);
  try {
    const services = await Promise.all(starting);
    const byRole = Object.fromEntries(ROLES.map((role, index) => [role, services[index]!])) as Record<
      Role,
      Service
    >;
    await trade(settings, byRole.api.url);
    const read = async ({ url }: Service): Promise<string> => (await fetch(`${url}/metrics`)).text();
    await eventually('frames come', async () =>
      /^redbook_stream_frame_age_seconds /m.test(await read(byRole.stream)),
    );
    const texts = await Promise.all(services.map(read));
    return Object.fromEntries(ROLES.map((role, index) => [role, texts[index]!])) as Record<Role, string>;
  } finally {
    for (const result of await Promise.allSettled(starting)) {
      if (result.status === 'fulfilled') await result.value.end('SIGKILL');
    }
  }
}

async function trade(settings: Record<string, string>, url: string): Promise<void> {
  await operate(settings, 'market', 'create', 'ETH/USDC', ...marketRules(), '--fee-bps', '10');
  const signer = ethersSigner();
  await operate(settings, 'account', 'credit', signer.address, 'USDC', '100', '--reference', 'a deposit');
  const call = (await signIn(url, signer))(url);
  for (const price of [1, 1_000]) {
    await call('POST', '/v1/orders', { market: 'ETH/USDC', side: 'buy', type: 'limit', price, size: 1 });
  }
  await operate(settings, 'ledger', 'reconcile');
}
