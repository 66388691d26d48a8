/** A process that may open no further file or connection. */

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../drill/processes.ts';
import { type Fault, LIMITS } from './fault.ts';
import { endConnections } from './network.ts';

const ROLES: readonly Role[] = ['api', 'settlement', 'stream', 'snapshot'];
const FILL_MS = 1_000;
const WITHOUT_MS = 4_000;
const AGAIN_MS = 200;
const MAX_TRIES = 10;

/** @param max highest number of a descriptor, and one more */
function setLimit(pid: number, max: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${max}:`]);
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

function readLimit(pid: number): number {
  const { stdout } = spawnSync('prlimit', [
    '--pid',
    String(pid),
    '--nofile',
    '--output=SOFT',
    '--noheadings',
  ]);
  return Number(stdout.toString());
}

/** Idle clients. Each of them comes back when its connection was ended. @returns ends them */
function flood(port: number, clients: number): () => void {
  const sockets: Socket[] = [];
  let isOver = false;
  const open = (): void => {
    if (isOver) return;
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => setTimeout(open, AGAIN_MS));
  };
  for (let client = 0; client < clients; client += 1) open();
  return () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
}

/** A connection may take the place of one that has just ended, before an idle client does. */
async function canConnect(port: number): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const asked = fetch(`http://127.0.0.1:${port}/livez`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(FILL_MS),
    });
    const isAnswered = await asked.then(
      () => true,
      () => false,
    );
    if (!isAnswered) return false;
    await sleep(AGAIN_MS);
  }
  return true;
}

/** Idle clients take all descriptors. Then the Redis servers end its connections, and it cannot make new ones. */
const none: Fault = {
  name: 'a process has no file descriptors left',
  rounds: 8,
  shortRounds: 0,
  restEvery: 4,
  mayBreak: LIMITS,
  forgetsLimits: true,
  async inject({ cluster, dice, round, note, violation }) {
    const slot = dice.pick(cluster.of(ROLES[(round - 1) % ROLES.length]!));
    const pid = cluster.processes.pidOf(slot);
    note(slot.name);
    const usual = readLimit(pid);
    const max = Math.max(...readdirSync(`/proc/${pid}/fd`).map(Number)) + 1;
    setLimit(pid, max);
    const endFlood = flood(slot.port, max);
    await sleep(FILL_MS);
    if (await canConnect(slot.port)) violation('campaign', `${slot.name} has descriptors left`);
    for (const redis of [cluster.redis, cluster.queueRedis]) await endConnections(redis, 'normal');
    await sleep(WITHOUT_MS);
    return async () => {
      setLimit(pid, usual);
      endFlood();
    };
  },
};

export const DESCRIPTORS: readonly Fault[] = [none];
