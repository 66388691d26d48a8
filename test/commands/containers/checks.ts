/** Checks of docker-compose.yml on a real engine. Each check performs an operation and reports what it observed. */

import { ERRORS } from '../../../src/domain/errors.ts';
import type { LoadResult, Seen } from './client.ts';
import { type Cluster, NETWORK_ID } from './cluster.ts';
import { blockOf, type Ended } from './engine.ts';

export interface Figure {
  readonly seen: string;
  readonly holds: boolean;
}

export interface Check {
  readonly what: string;
  /** True if other checks need the state that this check creates. */
  readonly isBasic?: boolean;
  readonly done: string;
  run(cluster: Cluster): Promise<Figure>;
}

/** The balancer's restart once took 10.7 s because its stop signal did not arrive. */
const BALANCER_BACK_WITHIN_MS = 5_000;
/** Fewer descriptors than any host allows. The balancer once needed 40,061. */
const FEW_FILES = 512;

const GUIDE = 'docs/operating.md';

const check = (what: string, done: string, run: Check['run']): Check => ({ what, done, run });
const basic = (...args: Parameters<typeof check>): Check => ({ ...check(...args), isBasic: true });

const lastLines = ({ stderr, stdout }: Ended): string =>
  (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' / ').slice(-300);

const byStatus = (result: Ended, seen: string): Figure =>
  result.status === 0
    ? { seen, holds: true }
    : { seen: `exit ${result.status}: ${lastLines(result)}`, holds: false };

const loaded = ({ sent, failed, failures, longestGapMs }: LoadResult): string =>
  [
    `${failed} of ${sent} requests failed, longest gap ${(longestGapMs / 1_000).toFixed(1)} s`,
    ...Object.entries(failures)
      .slice(0, 1)
      .map(([what, count]) => `${count} × ${what.slice(0, 60)}`),
  ].join('; ');

const isRefusal = ({ status, contentType, body }: Seen, code?: string): boolean => {
  if (status < 400 || !contentType.startsWith('application/json')) return false;
  const refusal = JSON.parse(body) as { error?: string; code?: string };
  return (
    typeof refusal.error === 'string' && refusal.code! in ERRORS && (code ?? refusal.code) === refusal.code
  );
};

const seconds = (sinceMs: number): string => `${Math.round((performance.now() - sinceMs) / 1_000)} s`;

/** Returns the names in `before` whose containers were replaced or restarted. */
function replaced(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...before].filter(([name, id]) => after.get(name) !== id).map(([name]) => name);
}

/** Sequence of the engine's last event. */
const eventOf = (status: Record<string, unknown>): number =>
  (status as { engine: { sequence: number } }).engine.sequence;

async function reconciles(cluster: Cluster): Promise<boolean> {
  return (await cluster.operator('ledger', 'reconcile')).holds === true;
}

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
    const holds = names.length === 0 && before.size >= 8 && results.every(({ status }) => status === 0);
    return { seen: `${names.length} of ${before.size} replaced ${names.join(' ')}`, holds };
  }),

  check('the operator prints JSON alone', 'run --rm operator status --json', async (cluster) => {
    const before = await cluster.containers();
    const { status, stdout } = await cluster.engine.compose('run', '--rm', 'operator', 'status', '--json');
    const isJson = typeof JSON.parse(stdout) === 'object';
    const up = await cluster.up();
    const names = replaced(before, await cluster.containers());
    return {
      seen: `${stdout.length} characters of JSON; the next up replaced ${names.length}`,
      holds: status === 0 && isJson && up.status === 0 && names.length === 0,
    };
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
    if (result.status === 0 && !rests) return { seen: `no order rests: ${lastLines(result)}`, holds: false };
    return byStatus(result, 'every command ended with 0, an order rested');
  }),

  check('settings reach the operator', 'NETWORK_ID in .env, then market create', async (cluster) => {
    const [{ body }] = (await cluster.ask('/v1/markets')) as [Seen];
    const [market] = (JSON.parse(body) as { markets: { networkId: unknown }[] }).markets;
    return { seen: `networkId ${market?.networkId}`, holds: String(market?.networkId) === NETWORK_ID };
  }),

  check('--scale api=3 under load', 'up -d --wait --scale api=3', async (cluster) => {
    const before = await cluster.containers();
    const result = await cluster.underLoad(() => cluster.up('--scale', 'api=3'));
    const after = await cluster.containers();
    const names = replaced(before, after);
    return {
      seen: `${loaded(result)}; ${names.length} replaced, ${after.size - before.size} added`,
      holds: result.failed === 0 && names.length === 0 && after.size === before.size + 1,
    };
  }),

  check('JSON while no replica is ready', 'stop redis, ask, start redis', async (cluster) => {
    const { engine } = cluster;
    const [metrics] = await cluster.ask('/metrics');
    await engine.compose('stop', 'redis');
    const paths = ['/v1/markets', '/v1/orders', '/ws'];
    let seen: Seen[] = [];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      seen = await cluster.ask(...paths);
      if (seen.every(({ body }) => body.includes('no replica is ready'))) break;
    }
    await engine.compose('start', 'redis');
    const up = await cluster.up('--scale', 'api=3');
    const [after] = await cluster.ask('/v1/markets');
    return {
      seen: `${seen.map(({ status, body }) => `${status} ${body.slice(0, 60)}`)[0]}; then ${after?.status}`,
      holds:
        isRefusal(metrics!, 'NOT_FOUND') &&
        seen.every((one) => isRefusal(one, 'SERVICE_UNAVAILABLE')) &&
        up.status === 0 &&
        after?.status === 200,
    };
  }),

  check('the balancer restarts in a second', 'restart balancer under load', async (cluster) => {
    const result = await cluster.underLoad(() => cluster.engine.compose('restart', 'balancer'));
    return { seen: loaded(result), holds: result.longestGapMs < BALANCER_BACK_WITHIN_MS };
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
    await cluster.up('--scale', 'api=3');
    const isLimited = limits.stdout.includes(`"Hard":${FEW_FILES}`);
    return byStatus(
      { ...result, status: status === 200 && isLimited ? result.status : 1 },
      `answers ${status}`,
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
    return {
      seen: `${loaded(result)}; the former key is ${isRotated ? '' : 'NOT '}the previous one, then ${isForgotten ? '' : 'NOT '}forgotten`,
      holds: rotation?.status === 0 && result.failed === 0 && isRotated && isForgotten,
    };
  }),

  check('upgrade: up -d --build', 'another source, under load', async (cluster) => {
    const before = eventOf(await cluster.operator('status'));
    change(cluster, 'one');
    let up: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      up = await cluster.up('--build');
    });
    const after = eventOf(await cluster.operator('status'));
    const holds =
      up?.status === 0 && after >= before && (await runs(cluster, 'one')) && (await reconciles(cluster));
    return { seen: `${loaded(result)}; event ${before} to ${after}; the books hold`, holds };
  }),

  check('upgrade without an interruption', "the guide's commands under load", async (cluster) => {
    const { checkout, engine } = cluster;
    change(cluster, 'two');
    const script = blockOf(checkout.read(GUIDE), '**Upgrade.**', 'sh');
    let upgrade: Ended | undefined;
    const result = await cluster.underLoad(async () => {
      upgrade = await engine.script(script, checkout.folder);
    });
    const holds = upgrade?.status === 0 && result.failed === 0 && (await runs(cluster, 'two'));
    return {
      seen: `${loaded(result)}; exit ${upgrade?.status}`,
      holds: holds && (await reconciles(cluster)),
    };
  }),

  check('the nightly line of cron', "the guide's line, from /", async ({ checkout, engine }) => {
    const line = /^17 3 \* \* \* (.*)$/m
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
    const upNow = targets.filter(({ health }) => health === 'up').length;
    return byStatus(
      { ...up, status: upNow >= 7 && upNow === targets.length ? up.status : 1 },
      `${upNow} of ${targets.length} targets up`,
    );
  }),

  check('down and up keep everything', 'down, up -d --wait', async (cluster) => {
    const before = eventOf(await cluster.operator('status'));
    await cluster.engine.compose('--profile', '*', 'down');
    const up = await cluster.up();
    const after = eventOf(await cluster.operator('status'));
    const holds = up.status === 0 && after === before && (await reconciles(cluster));
    return { seen: `event ${before}, then ${after}; the books hold`, holds };
  }),
];

const balancerId = async ({ engine }: Cluster): Promise<string> =>
  (await engine.compose('ps', '--quiet', 'balancer')).stdout.trim();

/** Changes the sources, so that the next build is another release. */
function change({ checkout }: Cluster, name: string): void {
  checkout.write('src/release.txt', name);
}

/** Returns true if every process of the project runs the image of the release. */
async function runs({ engine }: Cluster, name: string): Promise<boolean> {
  for (const role of ['api', 'stream', 'settlement', 'snapshot']) {
    const { stdout } = await engine.compose('ps', '--quiet', role);
    for (const id of stdout.trim().split('\n')) {
      const read = await engine.docker('exec', id, 'cat', '/redbook/src/release.txt');
      if (read.stdout !== name) return false;
    }
  }
  return true;
}
