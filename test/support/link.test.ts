/** The proxy of the tests: connections may be slow and stop at a byte, and never reorder what they carry. */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { type Link, openLink } from './link.ts';

describe('a link', () => {
  let server: Server;
  let link: Link;
  let client: Socket;
  let received: string;
  let answered: string;

  beforeEach(async () => {
    [received, answered] = ['', ''];
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        received += piece;
        socket.write(`re:${piece}`);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    link = await openLink(`redis://127.0.0.1:${port}/0`);
    client = connect(Number(new URL(link.url).port), '127.0.0.1');
    client.on('error', () => undefined);
    client.on('data', (piece) => {
      answered += piece;
    });
    client.write('one ');
    await eventually('the first piece is answered', () => answered === 're:one ');
  });

  afterEach(() => {
    client.destroy();
    link.close();
    server.close();
  });

  it('keeps the order of pieces when a slow connection is repaired', async () => {
    link.limp({ delayMs: 100, cutAfterBytes: Number.POSITIVE_INFINITY });
    await new Promise((resolve) => client.write('two ', resolve));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await link.mend();
    client.write('three ');
    await eventually('all pieces arrive', () => received.includes('two') && received.includes('three'));
    expect(received).to.equal('one two three ');
  });

  it('stops a connection before the bytes that match', async () => {
    const stands = link.trap({ request: 'commit', isSent: false });
    client.write('rows commit');
    await stands;
    expect(received).to.equal('one rows ');
    const closed = new Promise((resolve) => client.once('close', resolve));
    await link.mend();
    await closed;
  });

  it('sends the bytes that match and withholds their reply', async () => {
    const stands = link.trap({ request: 'commit', isSent: true, reply: 're:commit' });
    client.write('commit');
    await stands;
    expect([received, answered]).to.deep.equal(['one commit', 're:one ']);
  });

  it('sends the rest of a request that matched, also in a later piece', async () => {
    const stands = link.trap({ request: 'commit', isSent: true, reply: ' now' });
    client.write('commit');
    await eventually('the match arrives', () => received.includes('commit'));
    client.write(' now');
    await stands;
    expect([received, answered]).to.deep.equal(['one commit now', 're:one ']);
  });
});
