/**
 * `npm run promtool`: metrics, alert rules and their unit tests under Prometheus' own tool. It is no part of
 * `npm test`, which must not need it; what can be checked without is in monitoring.test.ts.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { metricsOfEveryRole } from '../../deployment/every-role.ts';

const FOLDER = fileURLToPath(new URL('../../../k8s/shared/', import.meta.url));

function promtool(args: readonly string[], input = ''): void {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input });
  if (error)
    throw new Error('promtool is not on PATH: Debian has it in `prometheus`, Homebrew too', { cause: error });
  expect(status, stdout + stderr).to.equal(0);
}

describe('promtool', function () {
  this.timeout(120_000);

  it('finds nothing wrong with the alert rules', () =>
    promtool(['check', 'rules', join(FOLDER, 'alerts.yml')]));

  it('sees alerts fire when they should, and not before', () =>
    promtool(['test', 'rules', join(FOLDER, 'alerts.test.yml')]));

  it('takes the configuration', () => promtool(['check', 'config', join(FOLDER, 'prometheus.yml')]));

  it('finds nothing wrong with the metrics of any role', async () => {
    promtool(['--version']);
    for (const text of Object.values(await metricsOfEveryRole())) promtool(['check', 'metrics'], text);
  });
});
