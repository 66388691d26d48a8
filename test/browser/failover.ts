/** Tests the page and the client while the primary of an engine with copies is lost. */

import { expect } from 'chai';
import {
  getOrderByClientId,
  getOrders,
  openConnection,
  place,
  type Session,
  signIn as signInClient,
} from '../../src/client/index.ts';
import { localSigner } from '../client/fixture.ts';
import { query } from '../ledger/tables.ts';
import { startCopies } from '../support/copies.ts';
import { eventually } from '../support/eventually.ts';
import { fundMarkets } from '../support/funded-markets.ts';
import { freePort } from '../support/ports.ts';
import { freshLedgerDatabase, freshRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { openGateway } from './gateway.ts';
import {
  bookState,
  cancelButton,
  fillForm,
  readTable,
  signIn,
  submit,
  tableNamed,
  untilRead,
} from './screen.ts';
import type { Scenario } from './visit.ts';
import { createWallet } from './wallets.ts';

const SYMBOL = 'GONE/USDC';
const ROLES = ['api', 'stream', 'settlement', 'snapshot'] as const;
/** The page marks a book as stale within six seconds of its last frame, so the engine is away for longer. */
const DOWN_AFTER_MS = 8_000;
const PATIENCE_MS = 60_000;
const MAX_TIMES = 30;
const ANSWER_WITHIN_MS = 5_000;
const NETWORK_NOISE = [/net::ERR_/, /status of (404|50\d)/];

type Ports = Record<(typeof ROLES)[number], number>;

const orderOf = (clientOrderId: string) =>
  ({ market: SYMBOL, side: 'buy', type: 'limit', price: '1700', size: '0.1', clientOrderId }) as const;

/** Places an order again under its id until its end is known. */
const placeOnce = async (session: Session, clientOrderId: string): Promise<string> => {
  for (let times = 0; times < MAX_TIMES; times += 1) {
    const options = { timeoutMs: ANSWER_WITHIN_MS };
    const placed = await place(session, orderOf(clientOrderId), options).catch(() => undefined);
    if (placed?.outcome === 'placed') return placed.order.id;
    if (placed?.outcome === 'duplicate') throw placed.error;
  }
  throw new Error(`${clientOrderId} was not placed`);
};

/** A service of its own, whose engine has three copies. */
async function openService() {
  const ports = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, await freePort()] as const)),
  ) as Ports;
  const [gateway, copies] = await Promise.all([openGateway(ports), startCopies()]);
  const settings = {
    REDIS_URL: copies.url,
    QUEUE_REDIS_URL: await freshRedis(),
    DATABASE_URL: await freshLedgerDatabase(),
    ENGINE_DOWN_AFTER_MS: String(DOWN_AFTER_MS),
    JWT_SECRET: 'a secret of the browser tests, 32 bytes or more',
    WEB_URL: gateway.url,
    WEB_HOSTS: new URL(gateway.url).host,
    TRUST_PROXY_HOPS: '1',
    LOG_LEVEL: 'error',
    DRAIN_MS: '0',
  };
  const services = await Promise.all(
    ROLES.map((role) => startService(role, { ...settings, PORT: String(ports[role]) })),
  );
  const row = async (): Promise<{ server: string; members: string[] }> => {
    const text = 'select server, members from engine_copies';
    const [found] = await query<{ server: string; members: string[] }>(settings.DATABASE_URL, text);
    return found!;
  };
  await eventually('all are copies', async () => (await row()).members.length === 3, PATIENCE_MS);
  return {
    settings,
    copies,
    row,
    url: gateway.url,
    async close() {
      gateway.close();
      for (const service of services) await service.end('SIGKILL');
      await copies.stop();
    },
  };
}

/** Every order has one end on the page and by the client, and is placed once. */
export const failOver: Scenario = async (open) => {
  const { settings, copies, row, url, close } = await openService();
  try {
    const wallet = createWallet();
    const signer = localSigner();
    await fundMarkets(settings, [SYMBOL], [wallet.addresses[0]!.toLowerCase(), signer.address.toLowerCase()]);
    const session = await signInClient(openConnection({ baseUrl: url }), signer);
    const { page, tolerate } = await open(`${url}/trade/GONE_USDC`, { wallets: [wallet] });
    tolerate(...NETWORK_NOISE);
    await signIn(page, wallet);
    const kept = await placeOnce(session, 'kept');
    await fillForm(page, { side: 'buy', type: 'Limit', price: '1800', size: '0.5' });
    const rest = tableNamed(page, 'Order book').getByRole('button', { name: '1700', exact: true });
    await rest.waitFor();
    await bookState(page, 'live').waitFor();
    const { server } = await row();
    await copies.servers.get(server)!.kill();
    const lost = placeOnce(session, 'lost');
    lost.catch(() => undefined); // told below
    const isStale = async (): Promise<boolean> =>
      (await bookState(page, 'stale').isVisible()) && !(await rest.isEnabled());
    await untilRead(isStale, Boolean, PATIENCE_MS);
    await page.getByRole('button', { name: 'Buy', exact: true }).click();
    await page.getByText(/The book on the screen is not up to date/).waitFor();
    await page.getByRole('button', { name: 'Send it', exact: true }).click();
    const sent = page.getByRole('list', { name: 'Orders you sent' });
    await sent.getByText(/no answer: looking it up/i).waitFor();
    await bookState(page, 'live').waitFor({ timeout: PATIENCE_MS });
    expect((await row()).server).not.to.equal(server);
    // The page sends it again by itself if the engine is back early enough.
    const [placed, notPlaced] = [
      cancelButton(page, 'buy 0.5 GONE at 1800'),
      sent.getByText(/not placed: the exchange had not begun it/),
    ];
    await placed.or(notPlaced).first().waitFor({ timeout: PATIENCE_MS });
    if (await notPlaced.isVisible()) {
      expect((await readTable(page, 'Open orders')).rows).to.have.length(0);
      await submit(page, 'buy');
      await placed.waitFor({ timeout: PATIENCE_MS });
    }
    expect((await readTable(page, 'Open orders')).rows).to.have.length(1);
    const ids = { kept, lost: await lost };
    const { orders } = await getOrders(session);
    expect(orders.map(({ id }) => id)).to.have.members(Object.values(ids));
    for (const [name, id] of Object.entries(ids))
      expect((await getOrderByClientId(session, name)).id).to.equal(id);
  } finally {
    await close();
  }
};
