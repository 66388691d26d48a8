/** Checks that take something away from a running cluster, and bring it back as the guides say. */

import { setTimeout as sleep } from 'node:timers/promises';

import { blockOf } from '../../support/guide.ts';
import type { LoadResult } from './client.ts';
import { type Cluster, PROJECT } from './cluster.ts';
import type { Ended } from './engine.ts';
import {
  type Check,
  check,
  eventOf,
  judged,
  loaded,
  orderGap,
  reconciles,
  replaced,
  untilUp,
} from './figures.ts';

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
    const [backup, restore] = ['### By `pg_dump`', '- **Postgres is lost, and there is a young dump.**'].map(
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

  check('Postgres older than the events that are left', 'an old dump, then ledger adopt', async (cluster) => {
    const { engine, checkout } = cluster;
    const guide = checkout.read(RUNBOOK);
    const settings = checkout.read('.env');
    checkout.write('.env', `${settings}EVENTS_STAY_MS=10000\n`);
    const up = await cluster.up();
    const backedUp = await engine.script(blockOf(guide, '### By `pg_dump`', 'sh'), checkout.folder);
    const dumped = eventOf(await cluster.operator('status'));
    // Events stay for up to twice the setting, and trading goes on, so that some are lost and some are left.
    const result = await cluster.underLoad(() => sleep(25_000));
    await settled(cluster);
    const losses = await loseVolumes(cluster, 'postgres');
    const redis = await cluster.up('redis');
    const heading = '### When Postgres is older';
    const restored = await engine.script(blockOf(guide, heading, 'sh'), checkout.folder);
    const adopt = ['run', '--rm', '-T', 'operator', 'ledger', 'adopt', '--json'];
    const asked = await engine.compose(...adopt);
    const [, last = ''] = /--confirm (\d+)/.exec(asked.stderr) ?? [];
    const adopted = await engine.compose(...adopt, '--confirm', last);
    const after = guide.slice(guide.indexOf('`redbook ledger adopt` now lists'));
    const continued = await engine.script(blockOf(after, '', 'sh'), checkout.folder);
    const later = await cluster.underLoad(async () => undefined);
    checkout.write('.env', settings);
    return judged(
      `dumped at event ${dumped}, lost up to ${last}; ${loaded(result)}; then ${loaded(later)}`,
      {
        'the first command asks': asked.status === 1 && Number(last) > Number(dumped),
        'the cluster trades': later.placed > 0,
        'the books hold': await reconciles(cluster),
      },
      up,
      backedUp,
      ...losses,
      redis,
      restored,
      adopted,
      continued,
    );
  }),

  check('a rehearsal of the restore', 'backed up under load, restored apart', async (cluster) => {
    const { engine, checkout } = cluster;
    const guide = checkout.read(RUNBOOK);
    cluster.addFile('docker-compose.backup.yml');
    const up = await cluster.up('--build');
    const scripts: (Ended | undefined)[] = [];
    const { result, lost } = await counted(cluster, async () => {
      scripts.push(await engine.script(blockOf(guide, '### By archive', 'sh'), checkout.folder));
    });
    scripts.push(await engine.script(blockOf(guide, '**Rehearsal.**', 'sh'), checkout.folder));
    const kinds = await queried(cluster, 'select kind from backups where at >= begun_at order by kind');
    return judged(
      `${loaded(result)}; noted: ${kinds}`,
      {
        'no order is lost': lost === 0,
        'every backup is noted': kinds === 'engine,postgres,rehearsal',
        'settlement reports their ages': (await agesOf(cluster)) === 3,
        'the books hold': await reconciles(cluster),
      },
      up,
      ...scripts,
    );
  }),

  check(
    'every copy of the engine is restored',
    'the oldest, and those right before and right after a base backup',
    async (cluster) => {
      const { engine } = cluster;
      cluster.addFile('docker-compose.backup.yml');
      const ended: (Ended | undefined)[] = [await cluster.up('--build')];
      const backup = (kind: string): Promise<Ended> => engine.compose('run', '--rm', '-T', 'backup', kind);
      const { result } = await counted(cluster, async () => {
        for (const kind of ['postgres', 'engine', 'postgres']) ended.push(await backup(kind));
      });
      const names = await copiesOfEngine(cluster);
      for (const name of [names[0]!, ...names.slice(-2)]) ended.push(...(await rehearse(cluster, name)));
      return judged(
        `${loaded(result)}; ${names.length} copies: ${names.join(' ')}`,
        { 'there are copies of two base backups': new Set(names.map((name) => name.split('.')[1])).size > 1 },
        ...ended,
      );
    },
  ),

  check('a rehearsal that fails', 'of a copy that was cut; then of the next one', async (cluster) => {
    const { engine, checkout } = cluster;
    cluster.addFile('docker-compose.backup.yml');
    const up = await cluster.up('--build');
    const block = blockOf(checkout.read(RUNBOOK), '**Rehearsal.**', 'sh');
    const copied = [await engine.compose('run', '--rm', '-T', 'backup', 'postgres')];
    const newest = (await copiesOfEngine(cluster)).at(-1)!;
    const cut = ['run', '--rm', '-T', '--entrypoint', 'truncate', 'backup', '--size=100'];
    copied.push(await engine.compose(...cut, `/backups/engine/${newest}.tar.gz`));
    const failed = await engine.script(block, checkout.folder);
    const begun = await queried(cluster, "select at < begun_at from backups where kind = 'rehearsal'");
    const next = [await engine.compose('run', '--rm', '-T', 'backup', 'engine')];
    next.push(await engine.script(block, checkout.folder));
    return judged(
      `ended with ${failed.status}: ${failed.stderr.trim().split('\n').slice(-3).join(' / ').slice(-200)}`,
      {
        'it ends, and says why': failed.status !== 0 && /unexpected end of file/.test(failed.stderr),
        'it is noted as begun and not ended': begun !== 'f',
      },
      up,
      ...copied,
      ...next,
    );
  }),

  check(
    'Postgres lost while trading goes on',
    'restored from its archive by the runbook, under load',
    async (cluster) => {
      const { engine, checkout } = cluster;
      const block = blockOf(checkout.read(RUNBOOK), '- **Postgres is lost, the engine is there.**', 'sh');
      const losses: Ended[] = [];
      let restored: Ended | undefined;
      const { result, lost } = await counted(cluster, async () => {
        losses.push(await engine.compose('kill', 'postgres'));
        losses.push(await engine.compose('rm', '--force', 'postgres'));
        losses.push(await engine.docker('volume', 'rm', `${PROJECT}_postgres-data`));
        restored = await engine.script(block, checkout.folder);
      });
      return judged(
        `${loaded(result)}; ${lost} of ${result.placed} answered orders lost`,
        {
          'orders are answered': result.placed > 0,
          'no answered order is lost': lost === 0,
          'the books hold': await reconciles(cluster),
        },
        ...losses,
        restored,
      );
    },
  ),

  check(
    'both volumes lost, with an archive',
    'restored by the runbook from the last copy of the engine',
    async (cluster) => {
      const { engine, checkout } = cluster;
      await settled(cluster);
      const before = await orderCount(cluster);
      const guide = checkout.read(RUNBOOK);
      const copied = await engine.script(blockOf(guide, '### By archive', 'sh'), checkout.folder);
      const later = await cluster.underLoad(async () => undefined);
      const losses = await loseVolumes(cluster, 'redis', 'postgres');
      const restored = await engine.script(blockOf(guide, '- **Both are lost.**', 'sh'), checkout.folder);
      const after = await orderCount(cluster);
      const result = await cluster.underLoad(async () => undefined);
      return judged(
        `${before} orders before the copy, ${later.placed} after it; restored ${after}; then ${loaded(result)}`,
        {
          'the orders of the copy are there': after >= before,
          'the cluster trades': result.placed > 0,
          'the books hold': await reconciles(cluster),
        },
        copied,
        ...losses,
        restored,
      );
    },
  ),
];

/** They begin with other volumes twice, and end with copies, which the cluster keeps. */
export const LAST_LOSSES: readonly Check[] = [
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

  check(
    'a copy of the engine lost',
    'docker-compose.ha.yml, SIGKILL of the primary under load',
    async (cluster) => {
      const ups = [await withCopies(cluster)];
      const killed = await wholeCopies(cluster);
      let without = 0;
      const { result, lost } = await counted(cluster, async () => {
        // Nobody starts it again before another one is named.
        ups.push(await cluster.engine.compose('kill', killed));
        await primaryWhen(cluster, ({ primary }) => primary !== '' && primary !== `${killed}:6379`);
        const before = await orderCount(cluster);
        await sleep(10_000);
        without = (await orderCount(cluster)) - before;
        ups.push((await untilUp(cluster)).at(-1));
        await wholeCopies(cluster);
      });
      const primary = await wholeCopies(cluster);
      return judged(
        `${killed} to ${primary}; ${loaded(result)}; ${orderGap(result)}; ${without} orders without it; ${lost} of ${result.placed} answered orders lost`,
        {
          'another one is the primary': primary !== killed,
          'trading goes on without it': without > 0,
          'no answered order is lost': lost === 0,
          'the books hold': await reconciles(cluster),
        },
        ...ups,
      );
    },
  ),

  check('the volume of a copy lost', 'of the primary, then of another one, under load', async (cluster) => {
    const ups = [await withCopies(cluster)];
    const lostVolumes: string[] = [];
    const { result, lost } = await counted(cluster, async () => {
      for (const which of ['primary', 'other']) {
        const primary = await wholeCopies(cluster);
        const server =
          which === 'primary' ? primary : ['redis', 'redis-1', 'redis-2'].find((one) => one !== primary)!;
        lostVolumes.push(server);
        ups.push(await cluster.engine.compose('kill', server));
        ups.push(await cluster.engine.compose('rm', '--force', server));
        ups.push(await cluster.engine.docker('volume', 'rm', `${PROJECT}_${server}-data`));
        ups.push(await cluster.engine.compose('up', '-d', '--wait', '--no-deps', server));
      }
      await wholeCopies(cluster);
    });
    return judged(
      `of ${lostVolumes.join(', then ')}; ${loaded(result)}; ${orderGap(result)}; ${lost} of ${result.placed} answered orders lost`,
      {
        'orders are answered': result.placed > 0,
        'no answered order is lost': lost === 0,
        'the books hold': await reconciles(cluster),
      },
      ...ups,
    );
  }),

  check('the Redis servers of the copies replaced', "the guide's commands under load", async (cluster) => {
    const { engine, checkout } = cluster;
    const up = await withCopies(cluster);
    await wholeCopies(cluster);
    const before = await cluster.containers();
    const block = blockOf(checkout.read('docs/operating.md'), '- **Update the servers:**', 'sh');
    let replacement: Ended | undefined;
    const { result, lost } = await counted(cluster, async () => {
      replacement = await engine.script(block, checkout.folder);
    });
    const names = replaced(before, await cluster.containers());
    return judged(
      `${names.join(', ')} replaced; ${loaded(result)}; ${orderGap(result)}; ${lost} of ${result.placed} answered orders lost`,
      {
        'the three servers are replaced': names.length === 3,
        'no answered order is lost': lost === 0,
        'the books hold': await reconciles(cluster),
      },
      up,
      replacement,
    );
  }),
];

/** Gives the cluster its copies, unless it has them. */
async function withCopies(cluster: Cluster): Promise<Ended | undefined> {
  cluster.addFile('docker-compose.ha.yml');
  return (await untilUp(cluster)).at(-1);
}

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

/** Returns the values of one column, separated by commas. */
export async function queried({ engine }: Cluster, sql: string): Promise<string> {
  const psql = ['psql', '-U', 'redbook', '-d', 'redbook', '-Atc', sql];
  return (await engine.compose('exec', '-T', 'postgres', ...psql)).stdout.trim().replaceAll('\n', ',');
}

export const orderCount = async (cluster: Cluster): Promise<number> =>
  Number(await queried(cluster, 'select count(*) from orders'));

/** Number of kinds of backups whose age settlement reports. */
async function agesOf({ engine }: Cluster): Promise<number> {
  const read =
    "fetch('http://127.0.0.1:9090/metrics').then((it) => it.text()).then((it) => console.log(it.match(/^redbook_backup_age_seconds\\{/gm)?.length))";
  return Number((await engine.compose('exec', '-T', 'settlement', 'node', '-e', read)).stdout);
}

/** Names of the copies of the engine, the oldest one first. */
async function copiesOfEngine({ engine }: Cluster): Promise<string[]> {
  const { stdout } = await engine.compose('run', '--rm', '-T', 'backup', 'list');
  return [...stdout.matchAll(/^engine-\S+$/gm)].map(([name]) => name);
}

/** Rehearses the restore of one copy by the services of the runbook, which ends with a reconcile. */
async function rehearse({ engine }: Cluster, name: string): Promise<Ended[]> {
  const parts = ['rehearsal', 'rehearsal-settlement', 'rehearsal-redis', 'rehearsal-postgres'];
  const up = ['up', '--exit-code-from', 'rehearsal', 'rehearsal'];
  return [
    await engine.compose('--profile', 'rehearsal', 'rm', '--stop', '--force', ...parts),
    await engine.compose('run', '--rm', '-T', 'rehearsal-restore', 'rehearse', name),
    await engine.compose('--profile', 'rehearsal', ...up),
  ];
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
export async function counted(
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

export async function loseVolumes({ engine }: Cluster, ...servers: string[]): Promise<Ended[]> {
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
  ended.push(await trading(cluster));
  const run = (command: string): Promise<Ended> => engine.docker('exec', holder, 'sh', '-c', command);
  return {
    ended,
    fill: (server: string) => run(`dd if=/dev/zero of=/${server}/fill bs=64k; true`),
    free: async (server: string) => void ended.push(await run(`rm /${server}/fill`)),
    /** The disks are gone with the last container that has them, so the next check begins on volumes of its own. */
    close: async () => {
      ended.push(await engine.docker('rm', '--force', holder));
      ended.push(await engine.compose('--profile', '*', 'down', '--volumes'));
      ended.push(await trading(cluster));
    },
  };
}

/** Starts a cluster on empty volumes, and makes a market and a wallet that can trade. */
async function trading(cluster: Cluster): Promise<Ended> {
  const up = await cluster.up();
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
  return up;
}
