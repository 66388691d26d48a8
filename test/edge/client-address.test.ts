/** Tests the address by which limits and stream admissions count a request. */

import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { clientAddresses, clientNetwork, isLoopback } from '../../src/edge/client-address.ts';

const from = (remoteAddress: string | undefined, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage;

describe('the client of an address', () => {
  const clients: [address: string, client: string | undefined][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::5:6:7:8:9', '2001:db8:0:5::/64'],
    ['64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
    // The deprecated IPv4-compatible form of RFC 4291: ipaddr.js reads it as the IPv4 address.
    ['::192.0.2.33', '192.0.2.33'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::1%eth0.100', 'fe80:0:0:0::/64'],
    ['203.0.113.9:50000', '203.0.113.9'],
    ['[2001:db8:1:2::1]:50000', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
    ['::ffff:cb00:7109', '203.0.113.9'],
    ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
    ['::fffe:cb00:7109', '0:0:0:0::/64'],
    ['', undefined],
    ['unknown', undefined],
    ['999.1.1.1', undefined],
    ['127.1', undefined],
    ['010.0.0.1', undefined],
    ['0x7f.0.0.1', undefined],
    ['3405803785', undefined],
    ['[::1', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['1::2::3', undefined],
    ['203.0.113.9/24', undefined],
  ];
  for (const [address, client] of clients) {
    it(`of ${JSON.stringify(address)} is ${client}`, () => expect(clientNetwork(address)).to.equal(client));
  }

  it('on this machine is distinguished from all others', () => {
    const local = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1'];
    const other = [
      '',
      'localhost',
      '128.0.0.1',
      '::2',
      '::',
      'fe80::1%lo.1',
      '::ffff:128.0.0.1',
      '127.1',
      '::127.0.0.1',
    ];
    expect(local.filter((address) => !isLoopback(address))).to.deep.equal([]);
    expect(other.filter(isLoopback)).to.deep.equal([]);
  });
});

describe('the client of a request', () => {
  const rows: [what: string, hops: number, request: IncomingMessage, client: string][] = [
    ['is the peer where no proxy is trusted', 0, from('192.0.2.1', '203.0.113.9'), '192.0.2.1'],
    ['is what the one trusted proxy appended', 1, from('192.0.2.1', '203.0.113.9'), '203.0.113.9'],
    ['is not what the client wrote', 1, from('192.0.2.1', '198.51.100.1, 203.0.113.9'), '203.0.113.9'],
    [
      'is what the outer of two proxies appended',
      2,
      from('192.0.2.1', '1.1.1.1, 203.0.113.9, 2.2.2.2'),
      '203.0.113.9',
    ],
    ['is the first entry where fewer proxies appended', 3, from('192.0.2.1', '203.0.113.9'), '203.0.113.9'],
    ['is the peer where the header is missing', 1, from('192.0.2.1'), '192.0.2.1'],
    ['is the peer where the header is empty', 1, from('192.0.2.1', ' , '), '192.0.2.1'],
    [
      'is the peer where the proxy appended no address',
      1,
      from('192.0.2.1', '1.1.1.1, unknown'),
      '192.0.2.1',
    ],
    ['is the peer where the entry is garbage', 1, from('192.0.2.1', '\u0000<script>,;"\\'), '192.0.2.1'],
    ['is an IPv6 network', 1, from('192.0.2.1', '2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64'],
    ['is the IPv4 address of a mapped peer', 0, from('::ffff:192.0.2.1'), '192.0.2.1'],
    ['is the IPv4 address of a mapped entry', 1, from('::1', '::ffff:203.0.113.9'), '203.0.113.9'],
    ['may come with a port', 1, from('::1', '203.0.113.9:4711'), '203.0.113.9'],
    ['has left', 0, from(undefined), 'gone'],
    ['has left behind a proxy that sent no header', 1, from(undefined), 'gone'],
    ['has left behind a proxy that appended nothing', 1, from(undefined, 'unknown'), 'gone'],
  ];
  for (const [what, hops, one, client] of rows) {
    it(what, () => expect(clientAddresses(hops)(one)).to.equal(client));
  }

  it('is read from several headers as from one that joins them', async () => {
    const seen: string[] = [];
    const server = createServer((incoming, response) => {
      seen.push(...[0, 1, 2, 3].map((hops) => clientAddresses(hops)(incoming)));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const headers = { 'X-Forwarded-For': ['198.51.100.1, 198.51.100.2', '203.0.113.9'] };
    await new Promise((resolve) =>
      request({ port, host: '127.0.0.1', agent: false, headers }, resolve).end(),
    );
    server.close();
    expect(seen).to.deep.equal(['127.0.0.1', '203.0.113.9', '198.51.100.2', '198.51.100.1']);
  });
});
