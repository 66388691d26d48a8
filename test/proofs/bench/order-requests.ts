/** Raw requests that place orders and cancel them. */

import { WALLETS, walletOf } from './driver-wallets.ts';
import { bearerOf } from './sessions.ts';

/** Wallets alternate: one buys, the next sells at the same price, so every other order is filled. */
export const tradingOrder = (index: number): object => ({
  market: 'ETH/USDC',
  side: index % 2 === 0 ? 'buy' : 'sell',
  type: 'limit',
  price: 2000,
  size: 0.01,
});

export const restingOrder = (index: number): object => ({
  market: 'ETH/USDC',
  side: 'buy',
  type: 'limit',
  price: 100 + (index % 100),
  size: 0.01,
});

/** An id is as long as a UUID. */
const ID_DIGITS = 30;

let serial = 0;

/** Orders of all wallets in turn, each with its own client order id. */
export function orderRequests(orderOf = tradingOrder): () => string {
  return requestsOf(
    Array.from({ length: WALLETS }, (_none, index) => walletOf(index)),
    orderOf,
  );
}

/** Orders of these wallets in turn, each with its own client order id. */
function requestsOf(wallets: readonly string[], orderOf: typeof tradingOrder): () => string {
  const heads = wallets.map((wallet) =>
    [
      'POST /v1/orders HTTP/1.1',
      'Host: localhost',
      `Authorization: ${bearerOf(wallet)}`,
      'Content-Type: application/json',
      'Content-Length: ',
    ].join('\r\n'),
  );
  return () => {
    const head = heads[serial % heads.length];
    const body = bodyOfOrder(orderOf);
    return `${head}${body.length}\r\n\r\n${body}`;
  };
}

/** The body of the next order. */
export function bodyOfOrder(orderOf = tradingOrder): string {
  const clientOrderId = `bench-${serial.toString().padStart(ID_DIGITS, '0')}`;
  const body = JSON.stringify({ ...orderOf(serial), clientOrderId });
  serial += 1;
  return body;
}

/** Returns the request that cancels an order. @param body answer to `request`, which placed the order */
export function cancelOf(body: string, request: string): string {
  const id = /"id":"([0-9a-f]+)"/.exec(body)![1];
  const bearer = /^Authorization: .*$/m.exec(request)![0].trim();
  return `DELETE /v1/orders/${id} HTTP/1.1\r\nHost: localhost\r\n${bearer}\r\n\r\n`;
}
