import { expect } from 'chai';
import { clientAddress } from '../../src/domain/client-address.ts';

describe('the address that a client counts by', () => {
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
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['203.0.113.9:50000', '203.0.113.9'],
    ['[2001:db8:1:2::1]:50000', '2001:db8:1:2::/64'],
    ['::ffff:cb00:7109', '203.0.113.9'],
    ['0:0:0:0:0:ffff:203.0.113.9', '203.0.113.9'],
    ['::fffe:cb00:7109', '0:0:0:0::/64'],
    ['', undefined],
    ['unknown', undefined],
    ['999.1.1.1', undefined],
    ['[::1', undefined],
  ];
  for (const [address, client] of clients) {
    it(`of ${JSON.stringify(address)} is ${client}`, () => expect(clientAddress(address)).to.equal(client));
  }
});
