/** Tests that a connection gets no more done for a pipeline of requests than others in the same time. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import { inPipelines } from '../../src/http/response/index.ts';
import { eventually } from '../support/eventually.ts';
import { talk } from '../support/raw-http.ts';

const REQUESTS = 60;
const headOf = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const pathsOf = (name: string): string[] => Array.from({ length: REQUESTS }, (_none, at) => `/${name}/${at}`);

describe('requests in a pipeline', () => {
  let server: Server;
  /** Paths of requests in the order of their beginning, with the turn of the event loop. */
  let begun: { path: string; turn: number }[] = [];
  let turn = 0;
  let isCounting = true;
  let answer: (response: ServerResponse) => void;

  before(async () => {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      begun.push({ path: request.url!, turn });
      answer(response);
    };
    server = createServer(inPipelines(serve, () => 'an address')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const count = (): void => {
      turn += 1;
      if (isCounting) setImmediate(count);
    };
    count();
  });
  beforeEach(() => {
    begun = [];
    answer = (response) => response.end(response.req.url);
  });
  after(() => {
    isCounting = false;
    server.close();
  });

  const port = (): number => (server.address() as AddressInfo).port;
  it('begin one in a turn of the event loop, and are answered in their order', async () => {
    const paths = pathsOf('a');
    const { replies } = await talk(port(), [paths.map(headOf).join('')], REQUESTS);
    expect(replies.map(({ text }) => text)).to.deep.equal(paths);
    expect(begun.map(({ path }) => path)).to.deep.equal(paths);
    const turns = begun.map((one) => one.turn);
    expect(new Set(turns.slice(1)).size, 'turns of those behind the first').to.equal(REQUESTS - 1);
  });

  it('begin while replies to earlier ones are open', async () => {
    const open = new Map<string, ServerResponse>();
    answer = (response) => open.set(response.req.url!, response);
    const paths = pathsOf('open');
    const talking = talk(port(), [paths.map(headOf).join('')], REQUESTS);
    await eventually('all have begun', () => open.size === REQUESTS);
    for (const [path, response] of [...open].reverse()) response.end(path);
    expect((await talking).replies.map(({ text }) => text)).to.deep.equal(paths);
  });

  it('begin one of each connection in a turn, and 8 of all', async () => {
    const names = Array.from({ length: 50 }, (_none, at) => `${at}`);
    await Promise.all(names.map((name) => talk(port(), [pathsOf(name).slice(0, 8).map(headOf).join('')], 8)));
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
    const socket = connect(port(), '127.0.0.1').on('error', () => undefined);
    socket.write(pathsOf('left').map(headOf).join(''));
    const [{ socket: served }] = (await once(server, 'request')) as [IncomingMessage];
    served.destroy();
    await once(served, 'close');
    const { length } = begun;
    expect(length).to.be.below(REQUESTS);
    for (const until = turn + REQUESTS; turn < until; ) await new Promise(setImmediate);
    expect(begun).to.have.length(length);
    socket.destroy();
  });
});
