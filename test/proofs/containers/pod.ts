/** Runs a pod of the manifests as a kubelet does: its init containers one by one, and its sidecars beside them. */

import type { Container, Resource } from '../deployment/kustomize.ts';
import { templateOf } from '../deployment/kustomize.ts';
import { type Cluster, PROJECT } from './cluster.ts';
import type { Ended } from './engine.ts';

interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly secret?: { readonly secretName: string };
}

/** The Docker volume that stands for one of the pod. Settings and Secrets are those of Compose. */
function volumeOf({ name, persistentVolumeClaim: claim, secret }: Volume): string {
  if (claim) return `${PROJECT}-${claim.claimName}`;
  if (secret?.secretName === 'redbook-backup') return `${PROJECT}_backup-keys`;
  if (secret) return `${PROJECT}-${secret.secretName}`;
  return name === 'settings' ? `${PROJECT}_settings` : `${PROJECT}-pod-${name}`;
}

function optionsOf(container: Container, pod: Resource['spec'], settings: Record<string, string>): string[] {
  const volumes = new Map((pod.volumes as Volume[]).map((volume) => [volume.name, volume]));
  const { runAsUser, runAsGroup } = pod.securityContext;
  const env = { ...(container.envFrom?.[0]?.configMapRef && settings) };
  for (const { name, value } of (container.env ?? []) as { name: string; value: string }[]) env[name] = value;
  const mounts = (container.volumeMounts ?? []) as { name: string; mountPath: string; readOnly?: boolean }[];
  return [
    '--read-only',
    '--cap-drop=ALL',
    `--user=${runAsUser}:${runAsGroup}`,
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...mounts.flatMap(({ name, mountPath, readOnly }) =>
      mountPath === '/tmp'
        ? ['--tmpfs', '/tmp:mode=1777']
        : ['--volume', `${volumeOf(volumes.get(name)!)}:${mountPath}${readOnly ? ':ro' : ''}`],
    ),
  ];
}

/** @returns how each container ended but the sidecars; the last one is the first that failed */
export async function runPod(
  { engine, image }: Cluster,
  workload: Resource,
  settings: Record<string, string>,
): Promise<Ended[]> {
  const pod = templateOf(workload)!.spec;
  const net = `${PROJECT}-pod`;
  const sidecars: string[] = [];
  const ended: Ended[] = [];
  const run = (container: Container, ...options: string[]): Promise<Ended> => {
    const [command, ...rest] = container.command ?? [];
    const entry = command === undefined ? [] : ['--entrypoint', command];
    const own = container.image.startsWith('redbook:') ? image : container.image;
    const network = ['--network', `container:${net}`];
    return engine.docker(
      'run',
      ...options,
      ...network,
      ...entry,
      ...optionsOf(container, pod, settings),
      own,
      ...rest,
      ...(container.args ?? []),
    );
  };
  const holder = ['--detach', '--init', '--name', net, '--network', `${PROJECT}_default`];
  await engine.docker('run', ...holder, '--entrypoint', 'sleep', image, 'infinity');
  try {
    for (const container of [...(pod.initContainers ?? []), ...pod.containers] as Container[]) {
      if (container.restartPolicy === 'Always') {
        sidecars.push(`${net}-${container.name}`);
        await run(container, '--detach', '--name', sidecars.at(-1)!);
        continue;
      }
      ended.push(await run(container, '--rm'));
      if (ended.at(-1)!.status !== 0) break;
    }
    return ended;
  } finally {
    await engine.docker('rm', '--force', ...sidecars, net);
    const own = (pod.volumes as Volume[]).filter(({ emptyDir }) => emptyDir).map(volumeOf);
    await engine.docker('volume', 'rm', '--force', ...own);
  }
}
