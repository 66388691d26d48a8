/** Generates the servers' settings of docker-compose.yml with the commands of its `settings` service. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs the commands on this checkout and writes their output into `folder` instead of the volume. */
export function writeSettings(folder: string): void {
  const [{ services }] = readYaml(join(ROOT, 'docker-compose.yml')) as [
    { services: { settings: { command: [string] } } },
  ];
  const [script] = services.settings.command;
  // Compose reads two dollar signs as one.
  const local = script.replaceAll('/checkout', ROOT).replaceAll('/settings', folder).replaceAll('$$', '$');
  execFileSync('sh', ['-ec', local]);
}
