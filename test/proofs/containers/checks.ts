/** Checks of docker-compose.yml on a real engine. Each check performs an operation and reports what it observed. */

import { blockOf } from '../../support/guide.ts';
import type { Seen } from './client.ts';
import { type Cluster, NETWORK_ID } from './cluster.ts';
import type { Ended } from './engine.ts';
import {
  basic,
  byStatus,
  type Check,
  check,
  eventOf,
  isRefusal,
  judged,
  loaded,
  reconciles,
  replaced,
  seconds,
  untilUp,
} from './figures.ts';
import { FOREIGN_ENTRY } from './foreign-entry.ts';
import { FOREIGN_POSTGRES } from './foreign-postgres.ts';
import { LAST_LOSSES, LOSSES } from './losses.ts';
import { OBJECT_STORAGE } from './object-storage.ts';

/** The balancer's restart once took 10.7 s because its stop signal did not arrive. */
const BALANCER_BACK_WITHIN_MS = 5_000;
/** Fewer descriptors than any host allows. The balancer once needed 40,061. */
const FEW_FILES = 512;

const GUIDE = 'docs/operating.md';
/** Where the guide has the way back from an upgrade. */
export const WAY_BACK = '**The way back**, from a checkout';

/** Prints the seconds in which the engine's Redis flushed its file. */
const READ_FLUSH =
  "fetch('http://127.0.0.1:9090/metrics').then((it) => it.text()).then((it) => console.log(/^redbook_redis_flush_seconds\\{server=.engine.\\} (\\S+)$/m.exec(it)?.[1]))";

export const CHECKS: readonly Check[] = [
  basic('a checkout under umask 077 comes up', 'up -d --wait, no image, no volume', async (cluster) => {
    const begunMs = performance.now();
    const result = await cluster.up();
    return byStatus(result, `all healthy after ${seconds(begunMs)}`);
  }),

  check('a second up replaces nothing', 'up -d --wait, twice', async (cluster) => {
    const before = await cluster.containers();
    const results = [await cluster.up(), await cluster.up()];
    const names = replaced(before, await cluster.containers());
    return judged(
      `${names.length} of ${before.size} replaced ${names.join(' ')}`,
      { 'nothing is replaced': names.length === 0, 'eight containers run': before.size >= 8 },
      ...results,
    );
  }),

  check('the operator prints JSON alone', 'run --rm operator status --json', async (cluster) => {
    const before = await cluster.containers();
    const command = await cluster.engine.compose('run', '--rm', 'operator', 'status', '--json');
    const isJson = typeof JSON.parse(command.stdout) === 'object';
    const up = await cluster.up();
    const names = replaced(before, await cluster.containers());
    return judged(
      `${command.stdout.length} characters of JSON; the next up replaced ${names.length}`,
      { 'stdout is JSON': isJson, 'the next up replaces nothing': names.length === 0 },
      command,
      up,
    );
  }),

  basic('the first session of the guides', "their commands as they are, then README's", async (cluster) => {
    const { checkout, engine, wallet } = cluster;
    const readme = checkout.read('README.md');
    checkout.write('session.mjs', blockOf(readme, '## A first session', 'js'));
    const before = blockOf(checkout.read(GUIDE), '**First session.**', 'sh');
    const session = blockOf(readme, '## A first session', 'sh');
    const result = await engine.script(`${before}\n${session}`, checkout.folder);
    await cluster.operator('account', 'credit', wallet.address, 'USDC', '10000', '--reference', 'the load');
    const rests = /"status":"resting"/.test(result.stdout);
    return judged('every command ended with 0, an order rested', { 'an order rests': rests }, result);
  }),

  check(
    'doctor before it goes live',
    "the guide's command; then with a Redis that would lose orders",
    async (cluster) => {
      const { engine, checkout } = cluster;
      const [, line] = /^\| Compose \| `(docker compose run --rm doctor)` \|$/m.exec(checkout.read(GUIDE))!;
      const ask = (): Promise<Ended> => engine.script(line!, checkout.folder);
      const admin = (fsync: string): Promise<Ended> =>
        engine.script(`admin config set appendfsync ${fsync}`, checkout.folder);
      const right = await ask();
      const changes = [await admin('everysec')];
      const wrong = await ask();
      changes.push(await admin('always'));
      const rows = (text: string): string[] => text.split('\n').filter((row) => row.includes('MUST CHANGE'));
      return judged(
        `${right.stdout.split('\n').length} lines; then ended with ${wrong.status}: ${rows(wrong.stdout)[0]?.replace(/ +/g, ' ').slice(0, 120)}`,
        {
          'nothing must change': rows(right.stdout).length === 0,
          'it asks for every role': ROLES.every((role) => right.stdout.includes(role)),
          'a Redis that would lose orders ends it with 1':
            wrong.status === 1 && rows(wrong.stdout).some((row) => row.includes('appendfsync')),
        },
        right,
        ...changes,
      );
    },
  ),

  check('settings reach the operator', 'NETWORK_ID in .env, then market create', async (cluster) => {
    const [{ body }] = (await cluster.ask('/v1/markets')) as [Seen];
    const [market] = (JSON.parse(body) as { markets: { networkId: unknown }[] }).markets;
    return { seen: `networkId ${market?.networkId}`, holds: String(market?.networkId) === NETWORK_ID };
  }),

  check('--scale api=3 under load', 'up -d --wait --scale api=3', async (cluster) => {
    const before = await cluster.containers();
    let up: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      up = await cluster.up('--scale', 'api=3');
    });
    const after = await cluster.containers();
    const names = replaced(before, after);
    return judged(
      `${loaded(result)}; ${names.length} replaced, ${after.size - before.size} added`,
      {
        'no request fails': result.failed === 0,
        'nothing is replaced': names.length === 0,
        'one container is added': after.size === before.size + 1,
      },
      up,
    );
  }),

  check('JSON while the engine is away', 'stop redis, ask, start redis', async (cluster) => {
    const { engine } = cluster;
    const [metrics] = await cluster.ask('/metrics');
    await engine.compose('stop', 'redis');
    // A request without a session is refused as ever, because the replicas of `api` stay endpoints.
    const paths = ['/v1/markets', '/v1/orders', '/ws'];
    let seen: Seen[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      seen = await cluster.ask(...paths);
      if (seen[0]?.status === 503) break;
    }
    const started = await engine.compose('start', 'redis');
    const ups = await untilUp(cluster, '--scale', 'api=3');
    const [after] = await cluster.ask('/v1/markets');
    return judged(
      `${seen.map(({ status, body }) => `${status} ${body.slice(0, 60)}`).join(', ')}; ${ups.length} times up, then ${after?.status}`,
      {
        'the metrics are not found': isRefusal(metrics!, 'NOT_FOUND'),
        'markets answer 503 in JSON': isRefusal(seen[0]!, 'SERVICE_UNAVAILABLE'),
        'every other route refuses in JSON': seen.every((one) => isRefusal(one)),
        'markets are answered afterwards': after?.status === 200,
      },
      started,
      ups.at(-1),
    );
  }),

  check('the balancer restarts in a second', 'restart balancer under load', async (cluster) => {
    let restart: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      restart = await cluster.engine.compose('restart', 'balancer');
    });
    const isShort = result.longestGapMs < BALANCER_BACK_WITHIN_MS;
    return judged(loaded(result), { 'the gap is under 5 s': isShort }, restart);
  }),

  check('the balancer starts under any limit of files', `ulimits nofile ${FEW_FILES}`, async (cluster) => {
    const { checkout, engine } = cluster;
    const file = 'few-files.yml';
    checkout.write(file, `services: { balancer: { ulimits: { nofile: ${FEW_FILES} } } }\n`);
    const files = ['-f', checkout.composeFile, '-f', `${checkout.folder}/${file}`];
    const few = ['up', '-d', '--wait', '--wait-timeout', '60', '--no-deps', 'balancer'];
    const result = await engine.compose(...files, ...few);
    const limits = await engine.docker(
      'inspect',
      '--format',
      '{{json .HostConfig.Ulimits}}',
      await balancerId(cluster),
    );
    const [{ status }] = (await cluster.ask('/v1/markets')) as [Seen];
    const up = await cluster.up('--scale', 'api=3');
    const isLimited = limits.stdout.includes(`"Hard":${FEW_FILES}`);
    return judged(
      `answers ${status}`,
      { 'it has the limit': isLimited, 'it answers 200': status === 200 },
      result,
      up,
    );
  }),

  check('the session key rotates', "the guide's commands under load, then forget", async (cluster) => {
    const { checkout, engine } = cluster;
    const script = blockOf(checkout.read(GUIDE), '**Session key.**', 'sh');
    const keys = async (): Promise<string> => {
      const read =
        "fs.readFileSync('/run/secrets/jwt-secret','utf8')+fs.readFileSync('/run/secrets/jwt-secret-previous')";
      return (await engine.compose('exec', '-T', 'api', 'node', '-p', read)).stdout;
    };
    const before = await keys();
    let rotation: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      rotation = await engine.script(script, checkout.folder);
    });
    const [, previous = ''] = (await keys()).trim().split('\n');
    const isRotated = previous !== '' && before.startsWith(previous);
    await engine.compose('run', '--rm', '-T', 'keys', '--forget-previous-key');
    const isForgotten = (await keys()).trim().split('\n').length === 1;
    return judged(
      loaded(result),
      {
        'no request fails': result.failed === 0,
        'the former key is the previous one': isRotated,
        'then it is forgotten': isForgotten,
      },
      rotation,
    );
  }),

  check('upgrade: up -d --build', 'another source, under load', async (cluster) => {
    const before = await cluster.containers();
    const event = eventOf(await cluster.operator('status'));
    change(cluster, 'one', 901);
    let up: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      up = await cluster.up('--build');
    });
    const after = eventOf(await cluster.operator('status'));
    return judged(
      `${loaded(result)}; event ${event} to ${after}`,
      { 'no event is lost': after >= event, ...(await upgraded(cluster, 'one', before)) },
      up,
    );
  }),

  check('upgrade without an interruption', "the guide's commands under load", async (cluster) => {
    const { checkout, engine } = cluster;
    const before = await cluster.containers();
    await engine.docker('tag', cluster.image, cluster.formerImage);
    change(cluster, 'two', 902);
    const script = blockOf(checkout.read(GUIDE), '### On Compose', 'sh');
    let upgrade: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      upgrade = await engine.script(script, checkout.folder);
    });
    return judged(
      loaded(result),
      { 'no request fails': result.failed === 0, ...(await upgraded(cluster, 'two', before)) },
      upgrade,
    );
  }),

  check('the way back', "the guide's command, then the new release again", async (cluster) => {
    const { checkout, engine } = cluster;
    const before = await cluster.containers();
    const event = eventOf(await cluster.operator('status'));
    const script = blockOf(checkout.read(GUIDE), WAY_BACK, 'sh');
    const back = await engine.script(script.replace('redbook:former', cluster.formerImage), checkout.folder);
    const result = await cluster.underLoad(async () => undefined);
    const isFormer = await upgraded(cluster, 'one', before);
    const again = (await untilUp(cluster)).at(-1);
    const after = eventOf(await cluster.operator('status'));
    return judged(
      `${loaded(result)}; event ${event} to ${after}`,
      { 'the former release trades': result.placed > 0, 'no event is lost': after >= event, ...isFormer },
      back,
      again,
    );
  }),

  check('the nightly line of cron', "the guide's line, from /", async ({ checkout, engine }) => {
    const line = /^17 3 \* \* 1-6 (.*)$/m
      .exec(checkout.read(GUIDE))![1]!
      .replace('/srv/redbook', checkout.folder);
    return byStatus(await engine.script(`unset COMPOSE_FILE\n${line}`, '/'), 'exit 0');
  }),

  check('monitoring sees every process', '--profile monitoring up -d --wait', async (cluster) => {
    const { engine } = cluster;
    const up = await engine.compose('--profile', 'monitoring', 'up', '-d', '--wait');
    const query = ['wget', '-q', '-O', '-', 'http://127.0.0.1:9090/api/v1/targets?state=active'];
    let targets: { health: string; scrapePool: string }[] = [];
    for (let attempt = 0; attempt < 30; attempt += 1) {
      const { stdout } = await engine.compose('exec', '-T', 'prometheus', ...query);
      targets = stdout === '' ? [] : JSON.parse(stdout).data.activeTargets;
      if (targets.length >= 7 && targets.every(({ health }) => health === 'up')) break;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    const flush = await engine.compose('exec', '-T', 'settlement', 'node', '-e', READ_FLUSH);
    const upNow = targets.filter(({ health }) => health === 'up').length;
    return judged(
      `${upNow} of ${targets.length} targets up`,
      {
        'every target is up': upNow >= 7 && upNow === targets.length,
        'settlement tells how long the engine flushes': Number(flush.stdout) > 0,
      },
      up,
      flush,
    );
  }),

  check('down and up keep everything', 'down, up -d --wait', async (cluster) => {
    const before = eventOf(await cluster.operator('status'));
    await cluster.engine.compose('--profile', '*', 'down');
    const up = await cluster.up();
    const after = eventOf(await cluster.operator('status'));
    return judged(
      `event ${before}, then ${after}`,
      { 'the engine is at the same event': after === before, 'the books hold': await reconciles(cluster) },
      up,
    );
  }),

  FOREIGN_ENTRY,
  ...LOSSES,
  FOREIGN_POSTGRES,
  OBJECT_STORAGE,
  ...LAST_LOSSES,
];

const balancerId = async ({ engine }: Cluster): Promise<string> =>
  (await engine.compose('ps', '--quiet', 'balancer')).stdout.trim();

/** A file of the release that the image has, and that every process reads. */
const SCRIPT = 'lua/place_orders.lua';
const ROLES = ['api', 'stream', 'settlement', 'snapshot'];

/** Changes a script and adds a migration, so that the next build is another release. */
function change({ checkout }: Cluster, release: string, migration: number): void {
  checkout.write(SCRIPT, `${checkout.read(SCRIPT)}\n-- release ${release}\n`);
  // A dump needs the right to read each table, which a release grants to those that it knows.
  const statements = `create table release_${release} (number int); grant select on release_${release} to redbook_backup`;
  const up = `(knex: Knex) => knex.raw('${statements}')`;
  checkout.write(
    `migrations/${migration}_release_${release}.ts`,
    `import type { Knex } from 'knex';\nexport const up = ${up};\n`,
  );
}

/** Returns the conditions of an upgrade: another container for each process, which has the new script, and the books. */
async function upgraded(
  cluster: Cluster,
  release: string,
  before: Map<string, string>,
): Promise<Record<string, boolean>> {
  const { engine } = cluster;
  const former = new Set([...before.values()].map((one) => one.split(' ')[0]));
  const kept: string[] = [];
  const old: string[] = [];
  for (const role of ROLES) {
    const { stdout } = await engine.compose('ps', '--quiet', '--no-trunc', role);
    for (const id of stdout.trim().split('\n')) {
      if (former.has(id)) kept.push(role);
      const read = await engine.docker('exec', id, 'tail', '-n', '1', `/redbook/dist/${SCRIPT}`);
      if (read.stdout.trim() !== `-- release ${release}`) old.push(role);
    }
  }
  return {
    [`every container is another one (${kept})`]: kept.length === 0,
    [`every process has the new release (${old})`]: old.length === 0,
    'the books hold': await reconciles(cluster),
  };
}
