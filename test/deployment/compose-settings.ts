/** The settings that docker-compose.yml hands to its servers, made by the commands of its own service `settings`. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readYaml } from './kustomize.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs the commands on this checkout, and writes what they make into `folder` in place of the volume. */
export function writeSettings(folder: string): void {
  const [{ services }] = readYaml(join(ROOT, 'docker-compose.yml')) as [
    { services: { settings: { command: [string] } } },
  ];
  const [script] = services.settings.command;
  // Compose takes two dollar signs for one.
  const local = script.replaceAll('/checkout', ROOT).replaceAll('/settings', folder).replaceAll('$$', '$');
  execFileSync('sh', ['-ec', local]);
}
