/** Backs up into a server of the S3 protocol from npm, and restores everything from there alone. */

import { makeCertificate } from '../../support/certificate.ts';
import { blockOf } from '../../support/guide.ts';
import { type Cluster, PROJECT } from './cluster.ts';
import type { Ended } from './engine.ts';
import { check, judged, loaded, reconciles } from './figures.ts';
import { counted, loseVolumes, orderCount } from './losses.ts';

const RUNBOOK = 'docs/runbook.md';
const NAME = `${PROJECT}-s3`;
const HOST = 's3.example';
const BUCKET = 'redbook-backups';
const PORT = 9443;
/** Key and secret of the server. */
const KEY = 'S3RVER';
const CA_FILE = '/backups/ca.crt';
const NODE = 'node:24.21.0-bookworm-slim';

// It takes another signature than its own for some requests of pgBackRest, which S3 itself accepts.
const SERVER = `
import S3rver from '@20minutes/s3rver';
const { KEY: key, CERT: cert } = process.env;
const configureBuckets = [{ name: '${BUCKET}' }];
const options = { address: '0.0.0.0', port: ${PORT}, directory: '/tmp/data', silent: true, vhostBuckets: false };
await new S3rver({ ...options, key, cert, configureBuckets, allowMismatchedSignatures: true }).run();
`;

/** The runbook's settings, with the values of this server. */
function settingsFor(guide: string): string {
  const values: Record<string, string> = {
    PGBACKREST_REPO1_S3_ENDPOINT: HOST,
    PGBACKREST_REPO1_S3_KEY: KEY,
    PGBACKREST_REPO1_S3_KEY_SECRET: KEY,
  };
  const named = blockOf(guide, '**Object storage.**', 'ini').replace(
    /^(\w+)=(.*)$/gm,
    (line, name: string) => (name in values ? `${name}=${values[name]}` : line),
  );
  const own = {
    PGBACKREST_REPO1_S3_URI_STYLE: 'path',
    PGBACKREST_REPO1_STORAGE_PORT: String(PORT),
    PGBACKREST_REPO1_STORAGE_CA_FILE: CA_FILE,
  };
  return `${named}${Object.entries(own)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')}`;
}

/** Starts the server in the networks of the servers and of the rehearsal. */
async function startServer({ engine, checkout }: Cluster, key: string, cert: string): Promise<Ended[]> {
  const folder = `${checkout.folder}/s3`;
  checkout.write('s3/server.mjs', SERVER);
  checkout.write(
    's3/Dockerfile',
    `FROM ${NODE}\nWORKDIR /s3\nRUN npm install --no-save @20minutes/s3rver@5.0.0\nCOPY server.mjs .\nCMD ["node", "server.mjs"]\n`,
  );
  const network = (name: string): string[] => ['--network-alias', HOST, '--network', `${PROJECT}_${name}`];
  const env = ['--env', `KEY=${key}`, '--env', `CERT=${cert}`];
  return [
    // The first command in the rehearsal's network makes it.
    await engine.compose('run', '--rm', '-T', '--entrypoint', 'true', 'rehearsal-restore'),
    await engine.docker('build', '--quiet', '--tag', NAME, folder),
    await engine.docker('run', '--detach', '--init', '--name', NAME, ...network('default'), ...env, NAME),
    await engine.docker('network', 'connect', '--alias', HOST, `${PROJECT}_storage`, NAME),
  ];
}

const inBackups = ({ engine }: Cluster, command: string): Promise<Ended> =>
  engine.compose('run', '--rm', '-T', '--no-deps', '--entrypoint', 'sh', 'backup', '-c', command);

export const OBJECT_STORAGE = check(
  'backups in object storage',
  "the runbook's settings; rehearsed, then both volumes and that of backups lost",
  async (cluster) => {
    const { engine, checkout } = cluster;
    const guide = checkout.read(RUNBOOK);
    const { key, certificate } = makeCertificate(HOST);
    cluster.addFile('docker-compose.backup.yml');
    const ended: (Ended | undefined)[] = [await cluster.up('--build')];
    const trust = async (): Promise<void> =>
      void ended.push(await inBackups(cluster, `echo '${certificate}' >${CA_FILE}`));
    await trust();
    ended.push(...(await startServer(cluster, key, certificate)));
    checkout.write('storage.env', settingsFor(guide));
    ended.push(await engine.script('docker compose up -d --wait --build', checkout.folder));
    const { result, lost } = await counted(cluster, async () => {
      ended.push(await engine.script(blockOf(guide, '### By archive', 'sh'), checkout.folder));
    });
    ended.push(await engine.script(blockOf(guide, '**Rehearsal.**', 'sh'), checkout.folder));
    ended.push(await engine.compose('run', '--rm', '-T', 'backup', 'engine'));
    const before = await orderCount(cluster);
    ended.push(...(await loseVolumes(cluster, 'redis', 'postgres')));
    ended.push(await engine.docker('volume', 'rm', `${PROJECT}_backups`));
    await trust();
    ended.push(await engine.script(blockOf(guide, '- **Both are lost.**', 'sh'), checkout.folder));
    const after = await orderCount(cluster);
    const later = await cluster.underLoad(async () => undefined);
    const left = await inBackups(cluster, 'find /backups -type f');
    await engine.docker('rm', '--force', NAME);
    checkout.write('storage.env', '');
    return judged(
      `${loaded(result)}; ${before} orders, restored ${after}; then ${loaded(later)}`,
      {
        'no order is lost before': lost === 0 && result.placed > 0,
        'the orders of the copy are there': after >= before && before > 0,
        'the volume of backups holds none': left.stdout.trim() === CA_FILE,
        'the cluster trades': later.placed > 0,
        'the books hold': await reconciles(cluster),
      },
      ...ended,
    );
  },
);
