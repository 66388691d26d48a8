/** Checks that take something away from a running cluster, and bring it back as the guides say. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { LoadResult } from './client.ts';
import { type Cluster, PROJECT } from './cluster.ts';
import { blockOf, type Ended } from './engine.ts';
import { type Check, check, eventOf, judged, loaded, reconciles, untilUp } from './figures.ts';

const RUNBOOK = 'docs/runbook.md';
const USERS = '/keys/redis/users.acl';
const KILLED = ['api', 'settlement', 'snapshot', 'stream', 'balancer', 'redis', 'postgres'];
const HEALTHY_WITHIN_MS = 120_000;

export const LOSSES: readonly Check[] = [
  check(
    'users of Redis of the former release',
    'old rights, then no admin; up -d --wait',
    async (cluster) => {
      const { engine } = cluster;
      const present = await edited(cluster, 'text');
      await edited(cluster, "text.replaceAll(' +xinfo', '')");
      const loads = [await engine.compose('run', '--rm', '-T', 'admin', 'acl', 'load')];
      const refused = await engine.compose('run', '--rm', '-T', 'operator', 'status', '--json');
      const before = (await cluster.containers()).get(`${PROJECT}-redis-1`);
      const up = await cluster.up();
      const after = (await cluster.containers()).get(`${PROJECT}-redis-1`);
      const updated = await edited(cluster, 'text');
      await cluster.operator('status');
      await edited(cluster, String.raw`text.replace(/^user admin .*\n/m, '')`);
      await engine.compose('restart', 'redis');
      const told = await cluster.up();
      await engine.compose('restart', 'redis');
      loads.push((await untilUp(cluster)).at(-1)!);
      loads.push(await engine.compose('run', '--rm', '-T', 'admin', 'acl', 'whoami'));
      const withoutAdmin = (users: string): string => users.replace(/^user admin .*\n/m, '');
      return judged(
        `a command ended with ${refused.stderr.trim().slice(0, 90)}`,
        {
          'the command names the right': refused.status !== 0 && /MISSING_RIGHTS/.test(refused.stderr),
          'up brings the present users, with the same passwords': updated === present,
          'Redis is not restarted': before === after,
          'a server without admin is named': /docker compose restart redis/.test(
            told.stdout + told.stderr + (await logsOf(cluster, 'users')),
          ),
          'the other passwords stay': withoutAdmin(await edited(cluster, 'text')) === withoutAdmin(present),
          'the books hold': await reconciles(cluster),
        },
        up,
        ...loads,
      );
    },
  ),

  check('every container killed', `SIGKILL of ${KILLED.join(', ')}, under load`, async (cluster) => {
    const ends: string[] = [];
    const { result, lost } = await counted(cluster, async () => {
      for (const service of KILLED) {
        await kill(cluster, service);
        if (!(await isHealthy(cluster, service))) ends.push(service);
      }
    });
    const up = (await untilUp(cluster)).at(-1);
    return judged(
      `${loaded(result)}; ${lost} of ${result.placed} answered orders lost`,
      {
        [`every container comes back by itself (${ends})`]: ends.length === 0,
        'no answered order is lost': lost === 0,
        'the books hold': await reconciles(cluster),
      },
      up,
    );
  }),

  check('the volume of Redis lost', 'rebuilt by the runbook', async (cluster) => {
    const { engine, checkout } = cluster;
    await settled(cluster);
    const before = await orderCount(cluster);
    const lost = await loseVolumes(cluster, 'redis');
    const started = await cluster.up('redis', 'postgres');
    const block = blockOf(checkout.read(RUNBOOK), '### Nothing is left', 'sh');
    const rebuilt = await engine.script(block, checkout.folder);
    const up = (await untilUp(cluster)).at(-1);
    const result = await cluster.underLoad(async () => undefined);
    return judged(
      `${before} orders; then ${loaded(result)}`,
      { 'the cluster trades': result.placed > 0, 'the books hold': await reconciles(cluster) },
      ...lost,
      started,
      rebuilt,
      up,
    );
  }),

  check('the volume of Postgres lost', 'dumped under load, restored by the runbook', async (cluster) => {
    const { engine, checkout } = cluster;
    const [backup, restore] = ['### By `pg_dump`', '- **Postgres is lost, the engine is there.**'].map(
      (heading) => blockOf(checkout.read(RUNBOOK), heading, 'sh'),
    );
    let backedUp: Ended | undefined;
    const { result, lost } = await counted(cluster, async () => {
      backedUp = await engine.script(backup!, checkout.folder);
    });
    await settled(cluster);
    const before = await orderCount(cluster);
    const losses = await loseVolumes(cluster, 'postgres');
    const redis = await cluster.up('redis');
    const restored = await engine.script(restore!, checkout.folder);
    await settled(cluster);
    const after = await orderCount(cluster);
    return judged(
      `${before} orders before, ${after} after; ${loaded(result)}`,
      {
        'no order was lost before': lost === 0,
        'no order is lost': after >= before && before > 0,
        'the books hold': await reconciles(cluster),
      },
      backedUp,
      ...losses,
      redis,
      restored,
    );
  }),

  check('both volumes lost', 'backed up under load, restored by the runbook', async (cluster) => {
    const { engine, checkout } = cluster;
    const [backup, restore] = ['### By `pg_dump`', 'To restore both on Compose'].map((heading) =>
      blockOf(checkout.read(RUNBOOK), heading, 'sh'),
    );
    let backedUp: Ended | undefined;
    await cluster.underLoad(async () => {
      backedUp = await engine.script(backup!, checkout.folder);
    });
    const percentage = await engine.compose(
      'run',
      '--rm',
      '-T',
      'admin',
      'config',
      'get',
      'auto-aof-rewrite-percentage',
    );
    const lost = await loseVolumes(cluster, 'redis', 'postgres');
    const restored = await engine.script(restore!, checkout.folder);
    const event = eventOf(await cluster.operator('status'));
    const result = await cluster.underLoad(async () => undefined);
    return judged(
      `restored at event ${event}; then ${loaded(result)}`,
      {
        'the rewrite is on again': percentage.stdout.includes('100'),
        'the cluster trades': result.placed > 0,
        'the books hold': await reconciles(cluster),
      },
      backedUp,
      ...lost,
      restored,
    );
  }),

  check('disks full', 'the disk of Redis, then of Postgres, under load', async (cluster) => {
    const disks = await withSmallDisks(cluster);
    const seen: string[] = [];
    const conditions: Record<string, boolean> = {};
    for (const disk of ['redis', 'postgres'] as const) {
      const { result, lost } = await counted(cluster, async () => {
        await disks.fill(disk);
        await sleep(15_000);
        await disks.free(disk);
        await untilUp(cluster);
      });
      seen.push(`${disk}: ${loaded(result)}, ${lost} of ${result.placed} answered orders lost`);
      conditions[`no order is lost on the full disk of ${disk}`] = lost === 0 && result.placed > 0;
    }
    conditions['the books hold'] = await reconciles(cluster);
    await disks.close();
    return judged(seen.join('; '), conditions, ...disks.ended);
  }),

  // The last check, because the cluster keeps its copies.
  check(
    'a copy of the engine lost',
    'docker-compose.ha.yml, SIGKILL of the primary under load',
    async (cluster) => {
      cluster.addFile('docker-compose.ha.yml');
      const ups = [(await untilUp(cluster)).at(-1)];
      const killed = await wholeCopies(cluster);
      await settled(cluster);
      const before = await orderCount(cluster);
      const around = await cluster.underLoad(async () => {
        await kill(cluster, killed);
        await primaryWhen(cluster, ({ primary }) => primary !== '' && primary !== `${killed}:6379`);
      });
      const without = await cluster.underLoad(async () => undefined);
      ups.push((await untilUp(cluster)).at(-1));
      const primary = await wholeCopies(cluster);
      await settled(cluster);
      const lost = around.placed + without.placed - ((await orderCount(cluster)) - before);
      return judged(
        `${killed} to ${primary}; ${loaded(around)}; without it ${without.placed} orders placed; ${Math.max(0, lost)} lost`,
        {
          'another one is the primary': primary !== killed,
          'trading goes on without it': without.placed > 0,
          'no answered order is lost': lost <= 0,
          'the books hold': await reconciles(cluster),
        },
        ...ups,
      );
    },
  ),
];

/** Changes the users file in its volume by an expression of `text`, and returns the file as it was. */
async function edited({ engine }: Cluster, expression: string): Promise<string> {
  const code = `const text = fs.readFileSync('${USERS}', 'utf8'); process.stdout.write(text); fs.writeFileSync('${USERS}', ${expression})`;
  const node = ['run', '--rm', '-T', '--no-deps', '--entrypoint', 'node', 'keys', '-e', code];
  return (await engine.compose(...node)).stdout;
}

const logsOf = async ({ engine }: Cluster, service: string): Promise<string> =>
  (await engine.compose('logs', '--no-log-prefix', service)).stdout;

const idsOf = async ({ engine }: Cluster, service: string): Promise<string[]> =>
  (await engine.compose('ps', '--all', '--quiet', service)).stdout.trim().split('\n');

/** Kills the process of a container. After `docker kill`, the engine would not start the container again. */
async function kill(cluster: Cluster, service: string): Promise<void> {
  const [id] = await idsOf(cluster, service);
  const pid = await cluster.engine.docker('inspect', '--format', '{{.State.Pid}}', id!);
  const code = `process.kill(${pid.stdout.trim()}, 'SIGKILL')`;
  const asRoot = [
    'run',
    '--rm',
    '--pid=host',
    '--privileged',
    '--user=0:0',
    '--network=none',
    '--entrypoint=node',
  ];
  await cluster.engine.docker(...asRoot, cluster.image, '-e', code);
}

async function isHealthy(cluster: Cluster, service: string): Promise<boolean> {
  const untilMs = Date.now() + HEALTHY_WITHIN_MS;
  await sleep(1_000);
  while (Date.now() < untilMs) {
    const ids = await idsOf(cluster, service);
    const states = await cluster.engine.docker('inspect', '--format', '{{.State.Health.Status}}', ...ids);
    if (
      states.stdout
        .trim()
        .split('\n')
        .every((state) => state === 'healthy')
    )
      return true;
    await sleep(1_000);
  }
  return false;
}

async function orderCount({ engine }: Cluster): Promise<number> {
  const psql = ['psql', '-U', 'redbook', '-d', 'redbook', '-Atc', 'select count(*) from orders'];
  return Number((await engine.compose('exec', '-T', 'postgres', ...psql)).stdout.trim());
}

/** Waits until Postgres has every event. */
async function settled(cluster: Cluster): Promise<void> {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const status = await cluster.operator('status').catch(() => ({}));
    const { settlement } = status as { settlement?: { lag: { events: number } } };
    if (settlement?.lag.events === 0) return;
    await sleep(1_000);
  }
}

const wholeCopies = (cluster: Cluster): Promise<string> =>
  primaryWhen(cluster, ({ members }) => members.length === 3);

/** Waits until the copies of the engine are as asked, and returns the service of the primary. */
async function primaryWhen(
  cluster: Cluster,
  holds: (copies: { primary: string; members: string[] }) => boolean,
): Promise<string> {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const copies = await cluster.operator('copies').catch(() => ({ primary: '', members: [] }));
    const now = copies as { primary: string; members: string[] };
    if (holds(now)) return now.primary.replace(':6379', '');
    await sleep(1_000);
  }
  throw new Error('the copies are not as expected after a minute');
}

/** Trades during the change, and counts the orders that were answered and that the ledger lacks afterwards. */
async function counted(
  cluster: Cluster,
  work: () => Promise<void>,
): Promise<{ result: LoadResult; lost: number }> {
  await settled(cluster);
  const before = await orderCount(cluster);
  const result = await cluster.underLoad(work);
  await untilUp(cluster);
  await settled(cluster);
  return { result, lost: Math.max(0, result.placed - ((await orderCount(cluster)) - before)) };
}

async function loseVolumes({ engine }: Cluster, ...servers: string[]): Promise<Ended[]> {
  return [
    await engine.compose('--profile', '*', 'stop'),
    await engine.compose('rm', '--force', ...servers),
    await engine.docker('volume', 'rm', ...servers.map((server) => `${PROJECT}_${server}-data`)),
  ];
}

/** Begins anew with both servers on small disks in memory, which a container of ours fills. */
async function withSmallDisks(cluster: Cluster) {
  const { engine } = cluster;
  const holder = `${PROJECT}-disks`;
  const ended = [await engine.compose('--profile', '*', 'down', '--volumes')];
  const sizes = { redis: '64m', postgres: '400m' };
  for (const [server, size] of Object.entries(sizes)) {
    const labels = [`project=${PROJECT}`, `volume=${server}-data`].map(
      (label) => `--label=com.docker.compose.${label}`,
    );
    const options = ['type=tmpfs', 'device=tmpfs', `o=size=${size},uid=999,gid=999,mode=700`].map(
      (one) => `--opt=${one}`,
    );
    ended.push(await engine.docker('volume', 'create', ...labels, ...options, `${PROJECT}_${server}-data`));
  }
  const mounts = Object.keys(sizes).map((server) => `--volume=${PROJECT}_${server}-data:/${server}`);
  ended.push(
    await engine.docker(
      'run',
      '--detach',
      '--init',
      '--name',
      holder,
      ...mounts,
      '--entrypoint=sleep',
      '--user=999:999',
      'redis:8.8.3',
      'infinity',
    ),
  );
  ended.push(await cluster.up());
  for (const command of [
    ['asset', 'set', 'USDC', '--scale', '6'],
    ['asset', 'set', 'ETH', '--scale', '8'],
    [
      'market',
      'create',
      'ETH/USDC',
      ...'--tick-size 0.01 --size-step 0.0001 --min-order-size null --max-order-size null --fee-bps 10'.split(
        ' ',
      ),
    ],
    ['account', 'credit', cluster.wallet.address, 'USDC', '10000', '--reference', 'full disks'],
  ])
    await cluster.operator(...command);
  const run = (command: string): Promise<Ended> => engine.docker('exec', holder, 'sh', '-c', command);
  return {
    ended,
    fill: (server: string) => run(`dd if=/dev/zero of=/${server}/fill bs=64k; true`),
    free: async (server: string) => void ended.push(await run(`rm /${server}/fill`)),
    close: async () => void ended.push(await engine.docker('rm', '--force', holder)),
  };
}
