/** Runs a server program: restarts it when it dies, and ends it when it is told to or when this process dies. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartRefusal } from '../../domain/errors.ts';

export interface ServerProgram {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Entered before the user changes, so it may be a folder that the user cannot reach. */
  readonly cwd: string;
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Signal for a graceful shutdown of the server. */
  readonly stopSignal: 'TERM' | 'INT';
  readonly logFile: string;
  /** Polled while the process lives. */
  isReady(pid: number): Promise<boolean>;
}

export interface Supervised {
  stop(): Promise<void>;
}

const READY_POLL_MS = 20;
const STILL_LOADING_MS = 5_000;
const BACKOFF_FIRST_MS = 50;
const BACKOFF_LAST_MS = 5_000;
/** A server that lived for this long is restarted without a pause. */
const HEALTHY_MS = 2_000;
const LOG_LIMIT_BYTES = 8 * 1024 * 1024;
const LOG_TAIL_LINES = 8;

/**
 * The server's parent process. Its standard input is a pipe from us. When the pipe ends, because we closed it or died,
 * the guard ends the server: first gracefully, and after 20 s by force.
 *
 * The guard is a shell, not Node, so that it survives `killall node`. It has a session of its own, so that it survives
 * Ctrl-C and a signal to our whole group. Descriptor 3 is open only in the server and its children: its end tells us
 * that all are gone.
 */
const GUARD = `
stop=$1; shift
"$@" </dev/null >&2 & server=$!
exec 3>&-
echo $server
exec >&-
while read -r line; do :; done
kill -s $stop $server 2>/dev/null
tenths=0
while kill -0 $server 2>/dev/null; do
  sleep 0.1
  tenths=$((tenths + 1))
  [ $tenths -eq 200 ] && kill -s KILL $server
done
exit 0
`;

/** Linux can signal a server when its guard is killed; elsewhere the next start finds the server and ends it. */
let deathSignal: boolean | undefined;
export function canSignalDeath(): boolean {
  deathSignal ??= spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;
  return deathSignal;
}

const SIGNALS = { TERM: 'SIGTERM', INT: 'SIGINT' } as const;

/** One run of a program, from its birth to its end. */
export interface Incarnation {
  readonly pid: number;
  /** Length of the log when the server began. */
  readonly logOffset: number;
  alive: boolean;
  /** Resolves when the process and its children are gone, for any reason. */
  readonly gone: Promise<void>;
  /** Requests a graceful shutdown. */
  end(): void;
}

/** Starts the program under its guard, and does not wait until it is ready. */
export async function launch(program: ServerProgram): Promise<Incarnation> {
  const logOffset = sizeOf(program.logFile);
  const fresh = logOffset > LOG_LIMIT_BYTES;
  const log = openSync(program.logFile, fresh ? 'w' : 'a', 0o600);
  const { stopSignal, command, args, cwd, env, user } = program;
  const prefix = canSignalDeath() ? ['setpriv', '--pdeathsig', stopSignal] : [];
  const guard = spawn('/bin/sh', ['-c', GUARD, 'redbook-guard', stopSignal, ...prefix, command, ...args], {
    cwd,
    env,
    ...user,
    detached: true,
    stdio: ['pipe', 'pipe', log, 'pipe'],
  });
  closeSync(log);
  guard.stdin?.on('error', () => {}); // a guard that was killed leaves a broken pipe
  const pid = await firstNumber(guard);
  const incarnation: Incarnation = {
    pid,
    logOffset: fresh ? 0 : logOffset,
    alive: true,
    gone: whenGone(guard, pid, SIGNALS[stopSignal]).then(() => {
      incarnation.alive = false;
    }),
    end: () => guard.stdin?.end(),
  };
  return incarnation;
}

/** Resolves when the guard has exited and no process holds descriptor 3 any more. */
async function whenGone(guard: ChildProcess, pid: number, stopSignal: NodeJS.Signals): Promise<void> {
  const lifeline = guard.stdio[3] as NodeJS.ReadableStream;
  let serverGone = false;
  lifeline.on('error', () => {}); // 'close' follows
  const end = new Promise<void>((resolve) => {
    lifeline.resume().once('close', () => {
      serverGone = true;
      guard.stdin?.end();
      resolve();
    });
  });
  if (guard.exitCode === null && guard.signalCode === null)
    await new Promise((resolve) => guard.once('exit', resolve));
  // The guard was killed and its server is still there. The server must not run without a guard.
  if (!serverGone) signal(pid, stopSignal);
  await Promise.race([end, sleep(10_000, undefined, { ref: false })]);
  if (!serverGone) signal(pid, 'SIGKILL');
  await end;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already ended.
  }
}

function firstNumber(guard: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    guard.once('error', reject);
    guard.once('exit', () => reject(new Error('the guard process was killed')));
    guard.stdout?.once('data', (chunk: Buffer) => resolve(Number.parseInt(chunk.toString(), 10)));
  });
}

/**
 * Starts the program and keeps it running.
 * @param onBorn called with every process number, as soon as there is one
 * @throws with the end of the log, when the program ends before it was ready for the first time
 */
export async function supervise(
  program: ServerProgram,
  onBorn: (pid: number) => void,
  onProgress: (line: string) => void,
): Promise<Supervised> {
  const stopping = new AbortController();
  let current: Incarnation;
  const begin = async (): Promise<void> => {
    current = await launch(program);
    onBorn(current.pid);
    if (stopping.signal.aborted) current.end();
    await untilReady(program, current, onProgress);
  };

  await begin();
  const heal = async (): Promise<void> => {
    for (let backoffMs = BACKOFF_FIRST_MS; ; backoffMs = Math.min(backoffMs * 2, BACKOFF_LAST_MS)) {
      const bornMs = Date.now();
      await current.gone;
      if (stopping.signal.aborted) return;
      if (Date.now() - bornMs > HEALTHY_MS) backoffMs = BACKOFF_FIRST_MS;
      onProgress(`${program.name} ended unexpectedly; starting it again on its own data.`);
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      await begin().then(
        () => onProgress(`${program.name} is back.`),
        (error: Error) => onProgress(error.message),
      );
    }
  };
  const healing = heal();

  return {
    async stop() {
      stopping.abort();
      current.end();
      await healing;
    },
  };
}

/** @throws with the end of the log, when the program ends before it is ready */
export async function untilReady(
  program: ServerProgram,
  incarnation: Incarnation,
  onProgress: (line: string) => void = () => {},
): Promise<void> {
  let nextLineMs = Date.now() + STILL_LOADING_MS;
  while (incarnation.alive) {
    if (await program.isReady(incarnation.pid)) return;
    if (Date.now() > nextLineMs) {
      onProgress(`${program.name} is still loading its data …`);
      nextLineMs = Date.now() + STILL_LOADING_MS;
    }
    await sleep(READY_POLL_MS);
  }
  const log = readFileSync(program.logFile).subarray(incarnation.logOffset).toString('utf8');
  const tail = log.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n  ');
  throw new StartRefusal(`${program.name} did not start. The end of ${program.logFile}:\n  ${tail}`, 1);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
