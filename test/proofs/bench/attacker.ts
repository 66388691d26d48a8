/**
 * A process that attacks an api: `attacker.ts URL WALLET KIND CONNECTIONS PIPELINED`. One wallet sends orders that are
 * refused after they met makers, each as soon as an earlier one is answered, until the process is killed. It says
 * `begun` over the IPC channel after the first answer.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { bearerOf } from './sessions.ts';

const [url, wallet, kind, connections, pipelined] = process.argv.slice(2) as [string, ...string[]];
const MARKET = 'ETH/USDC';

/** Orders that meet many asks in vain, by kind. */
const ORDERS: Readonly<Record<string, readonly object[]>> = {
  'market orders': [{ market: MARKET, side: 'buy', type: 'market', size: 100 }],
  'FOK orders': [
    { market: MARKET, side: 'buy', type: 'limit', price: 3000, size: 1_000, timeInForce: 'FOK' },
  ],
};
const all = Object.values(ORDERS).flat();
const mix = [
  ...all,
  { market: MARKET, side: 'buy', type: 'market', quoteAmount: 1_000_000 },
  { market: MARKET, side: 'buy', type: 'limit', price: 3000, size: 100, postOnly: true },
  { market: MARKET, side: 'buy', type: 'limit', price: 3000, size: 100, timeInForce: 'IOC' },
];

const requests = (ORDERS[kind!] ?? mix).map((order) => {
  const body = JSON.stringify(order);
  return [
    ...['POST /v1/orders HTTP/1.1', 'Host: localhost', `Authorization: ${bearerOf(wallet!)}`],
    ...['Content-Type: application/json', `Content-Length: ${body.length}`, '', body],
  ].join('\r\n');
});

let sent = 0;
const next = (): string => requests[sent++ % requests.length]!;

for (let index = 0; index < Number(connections); index += 1) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  let rest = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const text = rest + chunk;
    const answers = text.split('HTTP/1.1 ').length - 1;
    rest = text.slice(-('HTTP/1.1 '.length - 1));
    if (answers > 0) socket.write(Array.from({ length: answers }, next).join(''));
    process.send?.('begun');
  });
  socket.write(Array.from({ length: Number(pipelined) }, next).join(''));
}
