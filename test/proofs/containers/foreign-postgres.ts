/**
 * Copies the engine and rehearses a restore as overlays/production does beside a Postgres of somebody else. Its pods run
 * from the rendered manifests; the archive of Postgres stands for the one who puts it back to a moment.
 */

import { build, type Resource, withComponents } from '../deployment/kustomize.ts';
import { type Cluster, PROJECT } from './cluster.ts';
import type { Ended } from './engine.ts';
import { check, judged, loaded, reconciles } from './figures.ts';
import { counted, queried } from './losses.ts';
import { runPod } from './pod.ts';

const SECOND = `${PROJECT}-second`;
const SECRET = `${PROJECT}-redbook-rehearsal`;
const COPIES = `${PROJECT}-engine-copies`;
const IMAGE = 'redbook-backup:0.1.0';

const find = (all: Resource[], kind: string, name: string): Resource =>
  all.find((one) => one.kind === kind && one.metadata.name === name)!;

/** Starts a second server of Postgres, as the running one was at the moment of a copy. */
async function putBack({ engine }: Cluster, copy: string): Promise<Ended[]> {
  const digits = /engine-(\d{8}T\d{6})Z/.exec(copy)![1]!;
  const moment = digits.replace(/(....)(..)(..)T(..)(..)(..)/, '$1-$2-$3 $4:$5:$6+00');
  const restore = `mkdir -m 700 /rehearsal/postgres
pgbackrest --pg1-path=/rehearsal/postgres --type=time --target='${moment}' --target-action=promote restore`;
  const empty = 'find /rehearsal -mindepth 1 -delete';
  const inRestore = ['run', '--rm', '-T', '--entrypoint', 'sh', 'rehearsal-restore', '-ec'];
  const volumes = ['rehearsal:/rehearsal', 'backups:/backups:ro', 'settings:/settings:ro'];
  return [
    await engine.compose(...inRestore, `${empty}\n${restore}`),
    await engine.docker(
      'run',
      '--detach',
      '--name',
      SECOND,
      '--network',
      `${PROJECT}_default`,
      '--network-alias',
      'second',
      '--user',
      '999:999',
      '--entrypoint',
      'postgres',
      '--env',
      'PGBACKREST_CONFIG=/settings/pgbackrest.conf',
      '--env',
      'PGBACKREST_STANZA=redbook',
      ...volumes.flatMap((volume) => ['--volume', `${PROJECT}_${volume}`]),
      ...[
        IMAGE,
        '-D',
        '/rehearsal/postgres',
        '-c',
        'archive_mode=off',
        '-c',
        'hot_standby=off',
        '-c',
        'listen_addresses=*',
      ],
    ),
    await engine.docker(
      'exec',
      SECOND,
      ...[
        'sh',
        '-c',
        'until [ "$(psql -U redbook -d redbook -Atc \'select pg_is_in_recovery()\')" = f ]; do sleep 1; done',
      ],
    ),
  ];
}

/** Makes the Secret of the rehearsal: the URL of settlement, with the host of a server. */
const secretFor = ({ engine, image }: Cluster, host: string): Promise<Ended> =>
  engine.docker(
    'run',
    '--rm',
    '--user',
    '0:0',
    '--network',
    'none',
    '--entrypoint',
    'sh',
    '--volume',
    `${PROJECT}_settlement-keys:/from:ro`,
    '--volume',
    `${SECRET}:/to`,
    ...[
      image,
      '-ec',
      `sed 's/@[^/:]*/@${host}/' /from/database-url >/to/database-url; chmod 644 /to/database-url`,
    ],
  );

export const FOREIGN_POSTGRES = check(
  'a rehearsal beside a Postgres of somebody else',
  'pods of production with backup-engine; first on the server that runs',
  async (cluster) => {
    const { engine } = cluster;
    const all = withComponents(build, 'production', 'backup-engine');
    const { data: settings } = find(all, 'ConfigMap', 'redbook');
    const job = (name: string): Promise<Ended[]> => runPod(cluster, find(all, 'CronJob', name), settings);
    cluster.addFile('docker-compose.backup.yml');
    const ended: (Ended | undefined)[] = [await cluster.up('--build')];
    const backup = (kind: string): Promise<Ended> => engine.compose('run', '--rm', '-T', 'backup', kind);
    const { result, lost } = await counted(cluster, async () => {
      ended.push(await backup('postgres'), ...(await job('backup-engine')));
    });
    ended.push(await backup('engine')); // what came after the copy is in the archive
    const listed = await engine.docker(
      'run',
      '--rm',
      '--volume',
      `${COPIES}:/c`,
      '--entrypoint',
      'ls',
      IMAGE,
      '/c/engine',
    );
    ended.push(...(await putBack(cluster, listed.stdout)));

    ended.push(await secretFor(cluster, 'postgres'));
    const refused = await job('rehearsal');
    ended.push(await secretFor(cluster, 'second'));
    const rehearsed = await job('rehearsal');
    const noted = await queried(cluster, "select at >= begun_at from backups where kind = 'rehearsal'");
    await engine.docker('rm', '--force', SECOND);
    await engine.docker('volume', 'rm', '--force', SECRET, COPIES);
    const told = rehearsed.map(({ stdout }) => stdout).join('');
    return judged(
      `${loaded(result)}; copy ${listed.stdout.trim()}; ${/everything holds.*/.exec(told)?.[0]}`,
      {
        'no order is lost': lost === 0 && result.placed > 0,
        'it refuses the server that runs': /names the server that runs/.test(refused.at(-1)!.stderr),
        'the restored books hold': /everything holds/.test(told),
        'the rehearsal is noted': noted === 't',
        'the books hold': await reconciles(cluster),
      },
      ...ended,
      ...rehearsed,
    );
  },
);
