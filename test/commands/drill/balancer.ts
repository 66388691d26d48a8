/**
 * The balancer of docker-compose.yml before replicas on this machine: k8s/shared/haproxy.cfg as it is shipped,
 * but for addresses, and without its retries: whatever a replica does to a request, its client sees.
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
  /** Whether it sends requests to the replica. */
  isUp(slot: Slot): Promise<boolean>;
  /** How many replies of the replica it has passed on. */
  repliesOf(slot: Slot): Promise<number>;
  /** What it logged: requests that did not end well. */
  log(): readonly LogLine[];
  stop(): Promise<void>;
}

export interface LogLine {
  /** `address:port` that the client's connection came from. */
  readonly client: string;
  /** Name of the slot that the request was sent to, `<NOSRV>` when there was none. */
  readonly server: string;
  /** Who ended it and when, in haproxy's letters: `SH` is the server, before it had replied; `SC`, before it connected. */
  readonly ending: string;
  readonly request: string;
}

/** @param slots every place a replica of `api` or `stream` may have, those that are empty at first included */
export async function startBalancer(folder: string, slots: readonly Slot[]): Promise<Balancer> {
  const haproxy = await obtainHaproxy(console.log);
  const [port, monitorPort] = [await freePort(), await freePort()];
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

/** @throws when the file has changed so that its replicas cannot be put in, or its retries taken out */
function configOf(slots: readonly Slot[], port: number, monitorPort: number): string {
  const serversOf = (role: string): string =>
    slots
      .filter((slot) => slot.role === role)
      .map((slot) => `server ${slot.name} 127.0.0.1:${slot.port}`)
      .join('\n  ');
  const changes: readonly (readonly [found: RegExp, put: string, times: number])[] = [
    [/^resolvers docker\n( {2}.*\n)+/gm, '', 1],
    [/ resolvers docker init-addr none$/gm, '', 2],
    [/server-template api \d+ api:8080$/gm, serversOf('api'), 1],
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
