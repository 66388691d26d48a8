/** Reads the replies that haproxy generates itself under lines of our configurations. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../../../src/embedded/obtain/program.mjs';
import { serverEnvironment } from '../../../src/embedded/obtain/server-environment.mjs';
import { freePort } from '../../support/ports.ts';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const READY: readonly string[] = ['GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'];

/**
 * Starts haproxy with a backend that has no server.
 * @param lines of the backend's section
 * @param requests bytes to send, each on its own connection
 * @param shell commands to run before haproxy, such as `ulimit -n 100`
 */
export async function repliesOf(
  haproxy: Program,
  lines: string,
  requests: readonly string[] = READY,
  shell = 'true',
): Promise<Reply[]> {
  const port = await freePort();
  const timeouts =
    'timeout client 5s\n  timeout server 5s\n  timeout connect 1s\n  timeout http-request 300ms';
  const text = `defaults\n  mode http\n  ${timeouts}\nfrontend f\n  bind 127.0.0.1:${port}\n  default_backend b\nbackend b\n  ${lines.trim().replaceAll('\n', '\n  ')}\n`;
  return repliesUnder(haproxy, text, port, requests, shell);
}

/** Starts haproxy with a whole configuration and sends requests to a port. */
export async function repliesUnder(
  haproxy: Program,
  text: string,
  port: number,
  requests: readonly string[] = READY,
  shell = 'true',
): Promise<Reply[]> {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-haproxy-'));
  writeFileSync(join(folder, 'haproxy.cfg'), text);
  const child = spawn(
    'sh',
    ['-c', `${shell} && exec "$@"`, 'sh', haproxy.command, '-db', '-f', 'haproxy.cfg'],
    {
      cwd: folder,
      env: serverEnvironment(haproxy.libraryPath),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    complaint += part;
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  try {
    for (let attempt = 0; !(await isOpen(port)); attempt += 1) {
      if (child.exitCode !== null || attempt > 100) throw new Error(`haproxy does not start: ${complaint}`);
      await sleep(50);
    }
    return await Promise.all(requests.map((request) => replyTo(port, request)));
  } finally {
    child.kill('SIGTERM');
    await gone;
    rmSync(folder, { recursive: true });
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end()).resume();
    socket.on('error', () => resolve(false)).on('close', (failed) => resolve(!failed));
  });

const replyTo = (port: number, request: string): Promise<Reply> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.setTimeout(10_000, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const [, contentType = ''] = /^content-type: (.*)$/im.exec(head) ?? [];
      const status = Number(/^HTTP\/1\.\d (\d+)/.exec(head)?.[1] ?? 0);
      resolve({ status, contentType: contentType.trim(), body });
    });
  });
