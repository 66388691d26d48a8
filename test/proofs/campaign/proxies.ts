/** Proxies between a process of the service and its servers. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Lameness, Trap } from '../../support/link.ts';
import { program } from '../../support/program.ts';

export interface ProxyCommand {
  readonly id: number;
  /** Name of the server; undefined stands for all servers. */
  readonly name: string | undefined;
  readonly action: 'cut' | 'stall' | 'mute' | 'mend' | 'limp' | 'trap';
  readonly how: Lameness | Trap | undefined;
}

export interface ServerProxy {
  /** Addresses of the servers by way of the proxy, by their names. */
  readonly urls: Readonly<Record<string, string>>;
  do(action: 'cut' | 'stall' | 'mute' | 'mend', name?: string): Promise<void>;
  limp(name: string, lameness: Lameness): Promise<void>;
  /** Resolves when a connection to the server stands still at the trap. */
  trap(name: string, trap: Trap): Promise<void>;
  /** Stops the process as a whole, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  close(): void;
}

export async function startProxy(targets: Readonly<Record<string, string>>): Promise<ServerProxy> {
  const built = await program({ entry: 'test/proofs/campaign/proxy-process.ts' });
  const args = Object.entries(targets).map(([name, url]) => `${name}=${url}`);
  const child = spawn(process.execPath, [...built, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ urls }] = (await once(child, 'message')) as [{ urls: Record<string, string> }];
  let id = 0;
  const command = async (
    action: ProxyCommand['action'],
    name: string | undefined,
    how?: ProxyCommand['how'],
  ): Promise<void> => {
    id += 1;
    const asked: ProxyCommand = { id, name, action, how };
    const done = doneWith(child, id);
    child.send(asked);
    await done;
  };
  return {
    urls,
    do: command,
    limp: (name, lameness) => command('limp', name, lameness),
    trap: (name, trap) => command('trap', name, trap),
    signal: (signal) => {
      child.kill(signal);
    },
    close: () => {
      child.kill('SIGKILL');
    },
  };
}

const doneWith = (child: ChildProcess, id: number): Promise<void> =>
  new Promise((resolve) => {
    const hear = (message: { id?: number }): void => {
      if (message.id !== id) return;
      child.off('message', hear);
      resolve();
    };
    child.on('message', hear);
  });
