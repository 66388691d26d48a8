/** Tests how a role's server closes its connections at shutdown. */

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { createHttpServer } from '../../src/http/server.ts';
import { type Listening, listen, listenNearby } from '../../src/roles/listening.ts';

describe('a server that listens', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let listening: Listening;
  /** Ends the reply to a request of `/slow`. */
  let answerSlow: () => void;

  beforeEach(async () => {
    const server = createHttpServer((request, response) => {
      if (request.url === '/slow') answerSlow = () => response.end('slow');
      else request.resume().on('end', () => response.end('quick'));
    });
    listening = await listen(server, { port: 0 });
  });
  afterEach(() => agent.destroy());

  const ask = async (path: string): Promise<{ text: string; connection: string | undefined }> => {
    const [response] = (await once(get({ port: listening.port, path, agent }), 'response')) as [
      IncomingMessage,
    ];
    let text = '';
    for await (const chunk of response) text += chunk;
    return { text, connection: response.headers.connection };
  };
  const dial = async (sent: string): Promise<Socket> => {
    const socket = connect(listening.port);
    await once(socket, 'connect');
    socket.on('error', () => undefined).write(sent);
    return socket;
  };

  it('takes another free port near a taken one, where that is allowed', async () => {
    const wanted = { port: listening.port, host: '127.0.0.1' };
    const refused = createHttpServer(() => undefined);
    const other = createHttpServer(() => undefined);
    expect(await listen(refused, wanted, 'OPERATOR_PORT').catch(({ message }) => message)).to.match(
      /^OPERATOR_PORT: port \d+ is in use/,
    );
    const nearby = await listenNearby(other, wanted, 'OPERATOR_PORT');
    expect(nearby.port).to.not.equal(listening.port);
    await Promise.all([nearby.close(0), listening.close(0)]);
  });

  it('closes connections by its replies, not while a request may be coming', async () => {
    expect(await ask('/')).to.include({ connection: 'keep-alive' });
    listening.turnAway();
    expect(await ask('/')).to.deep.equal({ text: 'quick', connection: 'close' });
    expect(await ask('/')).to.deep.equal({ text: 'quick', connection: 'close' });
    await listening.close();
  });

  it('finishes requests under way, and does not wait for silent clients', async () => {
    const silent = await dial('');
    expect(await ask('/')).to.include({ text: 'quick' });
    const slow = ask('/slow');
    const idle = await dial('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(idle, 'data');
    while (answerSlow === undefined) await new Promise((resolve) => setImmediate(resolve));
    let isClosed = false;
    const closed = listening.close().then(() => {
      isClosed = true;
    });
    await Promise.all([once(silent, 'close'), once(idle, 'close')]);
    expect(isClosed).to.equal(false);
    answerSlow();
    expect(await slow).to.include({ text: 'slow' });
    await closed;
  });

  it('ends although a client never ends its request', async () => {
    const halves = [
      await dial('GET / HTTP/1.1\r\nHo'),
      await dial('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'),
    ];
    await ask('/');
    await Promise.all([listening.close(200), ...halves.map((socket) => once(socket, 'close'))]);
  });
});
