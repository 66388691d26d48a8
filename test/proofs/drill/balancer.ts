/**
 * Runs the balancer of docker-compose.yml for replicas on this machine. It uses k8s/shared/haproxy.cfg with other
 * addresses and without retries, so that clients see every failure of a replica.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serverEnvironment } from '../../../src/embedded/obtain/server-environment.mjs';
import { launch, type ServerProgram, untilReady } from '../../../src/embedded/run/supervise.ts';
import { obtainHaproxy } from '../../support/haproxy-binary.ts';
import { freePort } from '../../support/ports.ts';
import type { Slot } from './processes.ts';

const SHIPPED = new URL('../../../k8s/shared/haproxy.cfg', import.meta.url);

export interface Balancer {
  readonly port: number;
  /** Returns true if the balancer sends requests to the replica. */
  isUp(slot: Slot): Promise<boolean>;
  /** Number of replies of the replica that the balancer has forwarded. */
  repliesOf(slot: Slot): Promise<number>;
  /** Log lines of requests that did not succeed. */
  log(): readonly LogLine[];
  stop(): Promise<void>;
}

export interface LogLine {
  /** `address:port` of the client's end of the connection. */
  readonly client: string;
  /** Name of the slot that received the request, or `<NOSRV>` if none did. */
  readonly server: string;
  /** haproxy's termination code: `SH` means the server ended it before it replied; `SC`, before it connected. */
  readonly ending: string;
  readonly request: string;
}

/** @param slots all places of `api` and `stream` replicas, including those that are empty at first */
export async function startBalancer(folder: string, slots: readonly Slot[]): Promise<Balancer> {
  const haproxy = await obtainHaproxy(console.log);
  const port = await freePort();
  const monitorPort = await freePort();
  writeFileSync(join(folder, 'haproxy.cfg'), configOf(slots, port, monitorPort));
  const program: ServerProgram = {
    name: 'HAProxy',
    command: haproxy.command,
    args: ['-db', '-f', 'haproxy.cfg'],
    env: serverEnvironment(haproxy.libraryPath),
    cwd: folder,
    stopSignal: 'TERM',
    logFile: join(folder, 'haproxy.log'),
    isReady: () => fetch(`http://127.0.0.1:${monitorPort}/healthz`).then(({ ok }) => ok, no),
  };
  const incarnation = await launch(program);
  await untilReady(program, incarnation);

  const metric = async (pattern: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${monitorPort}/metrics`)).text();
    return [...text.matchAll(new RegExp(`^${pattern} (\\d+)`, 'gm'))].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  };
  return {
    port,
    isUp: async ({ role, name }) =>
      (await metric(`haproxy_server_status\\{proxy="${role}",server="${name}",state="UP"\\}`)) === 1,
    repliesOf: ({ role, name }) =>
      metric(`haproxy_server_http_responses_total\\{proxy="${role}",server="${name}",code="\\w+"\\}`),
    log: () =>
      [...readFileSync(program.logFile, 'utf8').matchAll(LOG_LINE)].map(({ groups }) => groups as never),
    async stop() {
      incarnation.end();
      await incarnation.gone;
    },
  };
}

const no = (): boolean => false;

const LOG_LINE =
  /^(?<client>[\d.]+:\d+) \[[^\]]+\] \S+ \w+\/(?<server>\S+) \S+ \S+ \S+ \S+ \S+ (?<ending>\S+) \S+ \S+ "(?<request>[^"]*)"$/gm;

/** @throws Error if the file has changed so that its replicas or its retries cannot be replaced */
function configOf(slots: readonly Slot[], port: number, monitorPort: number): string {
  const serversOf = (role: string): string =>
    slots
      .filter((slot) => slot.role === role)
      .map((slot) => `server ${slot.name} 127.0.0.1:${slot.port}`)
      .join('\n  ');
  const changes: readonly (readonly [found: RegExp, put: string, times: number])[] = [
    [/^resolvers docker\n( {2}.*\n)+/gm, '', 1],
    [/ resolvers docker init-addr none$/gm, '', 3],
    [/server-template api \d+ api:8080$/gm, serversOf('api'), 2],
    [/server-template stream \d+ stream:8080$/gm, serversOf('stream'), 1],
    [/bind :8080$/gm, `bind 127.0.0.1:${port}`, 1],
    [/bind :8404$/gm, `bind 127.0.0.1:${monitorPort}`, 1],
    [/^ {2}retries \d+$/gm, '  retries 0', 1],
    [/^ {2}option redispatch.*$/gm, '', 1],
  ];
  return changes.reduce(
    (text, [found, put, times]) => {
      const matches = text.match(found)?.length ?? 0;
      if (matches !== times) throw new Error(`k8s/shared/haproxy.cfg: ${found} is there ${matches} times`);
      return text.replace(found, put);
    },
    readFileSync(SHIPPED, 'utf8'),
  );
}
