/** Tests that a request gives back what it holds when its connection ends, also before thousands of others. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import pg from 'pg';
import { createApp } from '../../src/http/app.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { eventually } from '../support/eventually.ts';
import { type Fixture, openFixture, type Trader } from './fixture.ts';

const SOCKETS = 10;
const REQUESTS_PER_SOCKET = 400;
/** As many waits as one wallet may have. */
const WAITS = 10;

const headOf = (path: string, trader: Trader): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${trader.token}\r\n\r\n`;

describe('a connection that ends', () => {
  let fixture: Fixture;
  let server: Server;
  const sockets: Socket[] = [];

  before(async () => {
    fixture = await openFixture();
    server = createHttpServer(createApp(fixture.services)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
    await fixture.close();
  });

  const open = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    // The replies are never read.
    socket.pause();
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  const gauge = async (name: string): Promise<number> => {
    const [, value] = new RegExp(`^${name} (\\d+)$`, 'm').exec(await fixture.services.metrics.text()) ?? [];
    return Number(value);
  };
  const inFlight = () => gauge('redbook_http_requests_in_flight');
  const waiting = (): number => fixture.services.changeWaits.count;

  it('gives back the places of requests in flight, of whatever route', async () => {
    const trader = await fixture.trader();
    const before = await inFlight();
    // No list is answered while the table is locked, so all that lies behind one on its connection has not begun.
    const locking = new pg.Client({ connectionString: fixture.databaseUrl });
    await locking.connect();
    await locking.query('begin; lock table orders in access exclusive mode');
    const paths = ['/v1/markets', '/v1/orders', '/v1/portfolio', '/nothing'];
    for (let opened = 0; opened < SOCKETS; opened += 1) {
      const requests = Array.from({ length: REQUESTS_PER_SOCKET }, (_, at) =>
        headOf(paths[at % paths.length]!, trader),
      );
      open().write(requests.join(''));
    }
    await eventually('a request of each is in flight', async () => (await inFlight()) === before + SOCKETS);
    for (const socket of sockets.splice(0)) socket.destroy();
    await locking.end();
    await eventually('no request is in flight', async () => (await inFlight()) === before);
  });

  it('gives back the places of waits', async () => {
    const trader = await fixture.trader();
    const { body } = await trader.get('/v1/orders/changes');
    const path = `/v1/orders/changes?wait=25&after=${body.cursor}`;
    const before = await inFlight();
    for (let opened = 0; opened < WAITS; opened += 1) open().write(headOf(path, trader));
    await eventually('all wait', () => waiting() === WAITS);
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually('none waits', () => waiting() === 0);
    await eventually('no request is in flight', async () => (await inFlight()) === before);
  });
});
