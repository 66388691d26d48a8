/** Tests that a connection has one request at a time, however many it sends. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { createMessageClasses, unreadReplies } from '../../src/http/response/index.ts';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import { type Listening, listen } from '../../src/roles/listening.ts';
import { eventually } from '../support/eventually.ts';
import { talk } from '../support/raw-http.ts';

const REQUESTS = 600;
const headOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const bodyOf = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody`;
const pathsOf = (name: string, count = REQUESTS): string[] =>
  Array.from({ length: count }, (_none, at) => `/${name}/${at}`);

describe('requests in a pipeline', () => {
  let server: HttpServer;
  let listening: Listening;
  /** Requests that Node has made. */
  let made = 0;
  /** Paths of requests in the order of their beginning, with the turn of the event loop. */
  let begun: { path: string; turn: number }[] = [];
  let turn = 0;
  let isCounting = true;
  let answer: (response: ServerResponse) => void;

  before(async () => {
    const { IncomingMessage: Request, ServerResponse: Response } = createMessageClasses();
    class CountedRequest extends Request {
      constructor(socket: Socket) {
        super(socket);
        made += 1;
      }
    }
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      begun.push({ path: request.url!, turn });
      answer(response);
    };
    const classes = { IncomingMessage: CountedRequest, ServerResponse: Response };
    server = createHttpServer(serve, { classes });
    listening = await listen(server, { port: 0 });
    const count = (): void => {
      turn += 1;
      if (isCounting) setImmediate(count);
    };
    count();
  });
  beforeEach(() => {
    begun = [];
    made = 0;
    answer = (response) => response.end(response.req.url);
  });
  after(async () => {
    isCounting = false;
    await listening.close(0);
  });

  for (const [what, textOf] of [
    ['without bodies', headOf],
    ['with bodies', bodyOf],
  ] as const)
    it(`begin one in a turn of the event loop, and are answered in their order: ${what}`, async () => {
      const paths = pathsOf('a');
      const { replies } = await talk(listening.port, [paths.map(textOf).join('')], REQUESTS);
      expect(replies.map(({ text }) => text)).to.deep.equal(paths);
      expect(begun.map(({ path }) => path)).to.deep.equal(paths);
      expect(new Set(begun.map((one) => one.turn)).size, 'turns').to.equal(REQUESTS);
    });

  it('are not made before the earlier ones are answered', async () => {
    let first: ServerResponse | undefined;
    answer = (response) => {
      if (first === undefined) first = response;
      else response.end(response.req.url);
    };
    const paths = pathsOf('open');
    const talking = talk(listening.port, [paths.map(headOf).join('')], REQUESTS);
    await eventually('the first has begun', () => first !== undefined);
    for (const until = turn + 10; turn < until; ) await new Promise(setImmediate);
    expect([begun.length, made], 'begun, and made').to.deep.equal([1, 2]);
    expect(unreadReplies.bytes, 'bytes that wait count').to.be.above(REQUESTS * 10);
    first!.end('/open/0');
    expect((await talking).replies.map(({ text }) => text)).to.deep.equal(paths);
    expect(made, 'each behind another is made twice').to.equal(2 * REQUESTS - 1);
    expect(unreadReplies.bytes).to.equal(0);
  });

  it('begin one of each connection in a turn, and 8 of all', async () => {
    const names = Array.from({ length: 50 }, (_none, at) => `${at}`);
    const firsts: ServerResponse[] = [];
    answer = (response) => {
      if (response.req.url!.endsWith('/0')) firsts.push(response);
      else response.end();
    };
    const talks = names.map((name) => talk(listening.port, [pathsOf(name, 8).map(headOf).join('')], 8));
    await eventually('a request of each has begun', () => firsts.length === names.length);
    for (const first of firsts) first.end();
    await Promise.all(talks);
    // The first of a connection begins where it arrives.
    const behind = begun.filter(({ path }) => !path.endsWith('/0'));
    expect(behind).to.have.length(names.length * 7);
    const ofTurns = new Map<number, string[]>();
    for (const { path, turn: when } of behind)
      ofTurns.set(when, [...(ofTurns.get(when) ?? []), path.split('/')[1]!]);
    for (const connections of ofTurns.values()) {
      expect(connections.length).to.be.at.most(8);
      expect(new Set(connections).size).to.equal(connections.length);
    }
  });

  it('never begin when their connection has ended', async () => {
    answer = () => undefined;
    const socket = connect(listening.port, '127.0.0.1').on('error', () => undefined);
    socket.write(pathsOf('left').map(headOf).join(''));
    const [{ socket: served }] = (await once(server, 'request')) as [IncomingMessage];
    served.destroy();
    await once(served, 'close');
    for (const until = turn + 10; turn < until; ) await new Promise(setImmediate);
    expect(begun).to.have.length(1);
    socket.destroy();
  });

  it('end with their connection when the server is told to stop', async () => {
    const stopping = createHttpServer(() => undefined);
    const { port, close } = await listen(stopping, { port: 0 });
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(pathsOf('late').map(headOf).join(''));
    await once(stopping, 'request');
    await Promise.all([close(20), once(socket, 'close')]);
  });
});
