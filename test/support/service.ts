/** Runs Redbook's roles as processes and drives them by HTTP, the operator's command line, and signals. */

import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginTypedData } from '../../src/auth/index.ts';
import { canSignalDeath } from '../../src/embedded/run/supervise.ts';
import type { Signer } from '../auth/signers.ts';
import { checkReply } from './contract.ts';
import { NODE_FLAGS, program, ROOT } from './program.ts';
import { redisOf } from './redis-server.ts';
import { postgresOf } from './servers.ts';

/** A process that ends is reported at once. One on a starved machine may need minutes. */
const START_PATIENCE_MS = 300_000;
/** Number of output lines shown for a process that does not start. */
const TOLD_LINES = 20;

export interface Service {
  readonly child: ChildProcess;
  readonly url: string;
  /** Output so far. */
  output(): string;
  /**
   * Sends a signal and waits for the exit.
   * @returns the exit code, null after a SIGKILL
   */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** The Postgres of the tests does not flush. */
export const UNFLUSHED = { ENGINE_DURABILITY: 'trusted' };

/** Returns only the variables that the process needs, without those of the tests' servers. */
function environment(role: string, settings: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, LANG } = process.env;
  return {
    PATH,
    HOME,
    LANG,
    ...UNFLUSHED,
    ...settings,
    ...redisOf(role, settings),
    ...postgresOf(role, settings),
  };
}

/** Starts `redbook <role> …` without waiting until it is ready. */
export async function launchService(
  role: string,
  settings: Record<string, string>,
  folder = ROOT,
  ...further: string[]
): Promise<Service> {
  // Nobody is left to end it when a process of the tests is killed.
  const mortal = canSignalDeath() ? ['setpriv', '--pdeathsig', 'KILL'] : [];
  const redbook = await program({ folder });
  const words = [...mortal, process.execPath, ...NODE_FLAGS, ...redbook, role, ...further];
  const [command, ...args] = words;
  const child = spawn(command!, args, {
    cwd: folder,
    env: environment(role, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const gone = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  return {
    child,
    url: `http://127.0.0.1:${settings.PORT}`,
    output: () => output,
    async end(signal) {
      child.kill(signal);
      return gone;
    },
  };
}

/**
 * Starts `redbook <role>` and waits until it is ready.
 * @param folder of the release, by default this one
 */
export async function startService(
  role: string,
  settings: Record<string, string>,
  folder = ROOT,
): Promise<Service> {
  // Another program that answers there would be taken for this process.
  const taken = `http://127.0.0.1:${settings.PORT}`;
  if (await isReady(taken)) throw new Error(`${role} does not start: ${taken} is in use by another program`);
  const service = await launchService(role, settings, folder);
  const deadlineMs = Date.now() + START_PATIENCE_MS;
  while (!(await isReady(service.url))) {
    if (service.child.exitCode !== null || Date.now() > deadlineMs) {
      service.child.kill('SIGKILL');
      throw new Error(
        `${role} does not start:\n${service.output().split('\n').slice(-TOLD_LINES).join('\n')}`,
      );
    }
    await sleep(50);
  }
  return service;
}

/** Returns true if the process and all its servers work. */
export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz?deep`).then(
    (response) => response.ok,
    () => false,
  );

/**
 * Runs an operator's command.
 * @returns its reply document
 * @throws Error when it fails; the cause is what it wrote on its standard output
 */
export async function operate(settings: Record<string, string>, ...command: string[]): Promise<unknown> {
  const child = spawn(process.execPath, [...(await program()), ...command, '--json'], {
    cwd: ROOT,
    env: environment('operator', settings),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${err}`, { cause: out });
  return JSON.parse(out);
}

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export type Call = (method: string, path: string, body?: object) => Promise<Reply>;

/**
 * Signs a wallet in.
 * @returns calls with its session, at any replica
 */
export async function signIn(url: string, signer: Signer): Promise<(url: string) => Call> {
  const anonymous = callerOf(url, {});
  const { body } = await anonymous('POST', '/v1/auth/challenge', { address: signer.address });
  const signature = await signer.signTyped(body.typedData as LoginTypedData);
  const verified = await anonymous('POST', '/v1/auth/verify', { address: signer.address, signature });
  return (at) => callerOf(at, { authorization: `Bearer ${verified.body.token}` });
}

const callerOf =
  (url: string, headers: Record<string, string>): Call =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status } = response;
    const text = await response.text();
    checkReply({ method, path, status, headers: Object.fromEntries(response.headers), text });
    return { status, body: JSON.parse(text) };
  };
