/** One HTTP request over a kept connection. An answer that did not come is told apart from a refusal. */

import { type Agent, request as send } from 'node:http';
import type { Socket } from 'node:net';

export interface Reply {
  readonly status: number;
  /** Empty when the body is no JSON, such as a balancer's own page. */
  readonly body: Record<string, unknown>;
}

/** The connection broke or nothing came: the outcome is unknown. */
export class Broken extends Error {}

export interface Caller {
  readonly agent: Agent;
  /** Empty: no session. */
  readonly token: string;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body?: object | undefined;
  /** Milliseconds without a byte after which the request is given up. */
  readonly patienceMs: number;
  readonly onSocket?: (socket: Socket) => void;
}

/** @throws Broken */
export function exchange(port: number, { agent, token }: Caller, asked: Exchange): Promise<Reply> {
  const { method, path, body, patienceMs, onSocket = () => undefined } = asked;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Broken(error.message));
    const options = { host: '127.0.0.1', port, method, path, headers, agent, timeout: patienceMs };
    const request = send(options, (response) => {
      let received = '';
      response.setEncoding('utf8').on('error', fail);
      response.on('data', (chunk: string) => {
        received += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, body: parse(received) }));
    });
    request.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => onSocket(socket));
      else onSocket(socket);
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', fail);
    request.end(text);
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
