/** A WebSocket client that never reads. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Opens a client that never reads, not even from the kernel's buffer. */
export async function deaf(port: number, path: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  const head = [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return socket;
}
