/** Proves that a WebSocket client reads frames written as bytes as the original texts. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { textFrames } from '../../src/stream/text-frames.ts';

describe('text frames', () => {
  it('are read as the messages that were written, whatever their length', async () => {
    const lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 200_000];
    const texts = ['ü€𝄞', ...lengths.map((length) => 'x'.repeat(length))];
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const wss = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) =>
      wss.handleUpgrade(request, socket, head, (ws) => {
        socket.write(textFrames(texts.map((text) => Buffer.from(text))));
        ws.close(1000);
      }),
    );
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const seen: string[] = [];
    client.on('message', (data, isBinary) => seen.push(isBinary ? 'binary' : data.toString()));
    const [code] = await once(client, 'close');
    server.close();
    expect(code).to.equal(1000);
    expect(seen).to.deep.equal(texts);
  });
});
