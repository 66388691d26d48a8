import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { clientKey } from '../../src/stream/client-address.ts';

const from = (remoteAddress: string, forwarded?: string | string[]): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the address of a stream’s client', () => {
  const rows: [what: string, hops: number, request: IncomingMessage, address: string][] = [
    ['is its peer’s where no proxy is trusted', 0, from('192.0.2.1', '203.0.113.9'), '192.0.2.1'],
    ['is what the one trusted proxy says', 1, from('192.0.2.1', '203.0.113.9'), '203.0.113.9'],
    ['is not what the client says', 1, from('192.0.2.1', '198.51.100.1, 203.0.113.9'), '203.0.113.9'],
    [
      'is what the outer of two proxies says',
      2,
      from('192.0.2.1', '1.1.1.1, 203.0.113.9, 2.2.2.2'),
      '203.0.113.9',
    ],
    ['is the farthest there is', 3, from('192.0.2.1', '203.0.113.9'), '203.0.113.9'],
    ['is the peer’s where the proxy says nothing', 1, from('192.0.2.1'), '192.0.2.1'],
    ['is the peer’s where the proxy says nothing at length', 1, from('192.0.2.1', ' , '), '192.0.2.1'],
    [
      'may be in the last of several headers',
      1,
      from('192.0.2.1', ['1.1.1.1', '203.0.113.9']),
      '203.0.113.9',
    ],
  ];
  for (const [what, hops, request, address] of rows) {
    it(what, () => expect(clientKey(request, hops)).to.equal(address));
  }
});
