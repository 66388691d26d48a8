/** A process that may open no file and no connection. */

import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../drill/processes.ts';
import { type Fault, LIMITS } from './fault.ts';

const ROLES: readonly Role[] = ['api', 'settlement', 'stream', 'snapshot'];
/** Fewer than any process has open. */
const FEW = 20;
const WITHOUT_MS = 4_000;

function setMost(pid: number, descriptors: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${descriptors}:`]);
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

function mostOf(pid: number): number {
  const { stdout } = spawnSync('prlimit', [
    '--pid',
    String(pid),
    '--nofile',
    '--output=SOFT',
    '--noheadings',
  ]);
  return Number(stdout.toString());
}

/** What is open stays open, so its servers end its connections: it cannot make new ones, nor let clients in. */
const none: Fault = {
  name: 'a process has no file descriptors left',
  rounds: 8,
  shortRounds: 0,
  restEvery: 4,
  mayBreak: LIMITS,
  forgetsLimits: true,
  async inject({ cluster, dice, round, note }) {
    const slot = dice.pick(cluster.of(ROLES[(round - 1) % ROLES.length]!));
    const pid = cluster.processes.pidOf(slot);
    note(slot.name);
    const most = mostOf(pid);
    setMost(pid, FEW);
    for (const redis of [cluster.redis, cluster.queueRedis])
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await sleep(WITHOUT_MS);
    return async () => setMost(pid, most);
  },
};

export const DESCRIPTORS: readonly Fault[] = [none];
