/**
 * Sends requests in rounds that a process reads in one turn of its event loop, however busy the machine is: each call of
 * a script then has the same number of commands in each run.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '../../support/eventually.ts';
import { isStopped } from '../../support/proc.ts';
import { readAnswers } from './load.ts';

type OnAnswer = (body: string, request: string) => void;

export class Rounds {
  readonly #pid: number;
  readonly #sockets: readonly Socket[];
  #onAnswer: (socket: Socket, status: number, body: string) => void = () => {};
  #fail: (error: Error) => void = () => {};

  private constructor(pid: number, sockets: readonly Socket[]) {
    this.#pid = pid;
    this.#sockets = sockets;
    for (const socket of sockets) {
      readAnswers(socket, (status, body) => this.#onAnswer(socket, status, body));
      socket.on('close', () => this.#fail(new Error('a connection was closed')));
    }
  }

  /** @param process the one that answers at the URL @param together number of requests of a round */
  static async open(url: string, process: ChildProcess, together: number): Promise<Rounds> {
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: together }, () =>
      connect({ host: hostname, port: Number(port), noDelay: true }),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return new Rounds(process.pid!, sockets);
  }

  /**
   * Sends so many requests, each round when the one before it is answered.
   * @throws Error when one is refused
   */
  async send(requests: number, next: () => string, onAnswer: OnAnswer = () => {}): Promise<void> {
    for (let sent = 0; sent < requests; sent += this.#sockets.length) await this.#round(next, onAnswer);
  }

  /** The process is stopped while the requests are written, so that it finds all of them when it goes on. */
  async #round(next: () => string, onAnswer: OnAnswer): Promise<void> {
    process.kill(this.#pid, 'SIGSTOP');
    await eventually('the process stops', () => isStopped(this.#pid), 60_000, 1);
    const asked = new Map<Socket, string>();
    const answered = new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      this.#onAnswer = (socket, status, body) => {
        if (status < 200 || status > 299) reject(new Error(`${status}: ${body}`));
        onAnswer(body, asked.get(socket)!);
        asked.delete(socket);
        if (asked.size === 0) resolve();
      };
    });
    for (const socket of this.#sockets) {
      const request = next();
      asked.set(socket, request);
      socket.write(request);
    }
    process.kill(this.#pid, 'SIGCONT');
    await answered;
  }

  close(): void {
    this.#fail = () => {};
    for (const socket of this.#sockets) socket.destroy();
  }
}
