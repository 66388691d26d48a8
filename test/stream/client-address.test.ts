import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { addressKey, clientKey } from '../../src/stream/client-address.ts';

const from = (remoteAddress: string, forwarded?: string | string[]): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the address of a client', () => {
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

  const keys: [address: string, key: string][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::5:6:7:8:9', '2001:db8:0:5::/64'],
    ['64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['203.0.113.9:50000', '203.0.113.9'],
    ['[2001:db8:1:2::1]:50000', '2001:db8:1:2::/64'],
  ];
  for (const [address, key] of keys) {
    it(`counts ${address} as ${key}`, () => expect(addressKey(address)).to.equal(key));
  }
});
