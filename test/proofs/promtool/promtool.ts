/**
 * `npm run proofs -- promtool`: checks metrics, alert rules and their unit tests with Prometheus' own tool. `npm test`
 * must not depend on that tool; monitoring.test.ts checks what can be checked without it.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeSettings } from '../deployment/compose-settings.ts';
import { metricsOfEveryRole } from '../deployment/every-role.ts';
import { firstRowTests, queriesAsRules } from './dashboard.ts';

function promtool(args: readonly string[], input = ''): void {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input });
  if (error)
    throw new Error('promtool is not on PATH: Debian has it in `prometheus`, Homebrew too', { cause: error });
  expect(status, stdout + stderr).to.equal(0);
}

describe('promtool', function () {
  this.timeout(300_000);
  // Prometheus expects the rules next to its configuration.
  const folder = mkdtempSync(join(tmpdir(), 'redbook-promtool-'));
  before(() => writeSettings(folder));
  after(() => rmSync(folder, { recursive: true }));

  it('accepts the alert rules', () => promtool(['check', 'rules', join(folder, 'alerts.yml')]));

  it('passes the unit tests of the alert rules', () =>
    promtool(['test', 'rules', join(folder, 'alerts.test.yml')]));

  it('accepts every query of the dashboard', () => {
    const file = join(folder, 'dashboard.yml');
    writeFileSync(file, queriesAsRules());
    promtool(['check', 'rules', file]);
  });

  it('finds in the first row of the dashboard whether we trade, whether the books are right, and what fails since when', () => {
    const file = join(folder, 'first-row.yml');
    writeFileSync(file, firstRowTests());
    promtool(['test', 'rules', file]);
  });

  it('accepts the configuration', () => promtool(['check', 'config', join(folder, 'prometheus.yml')]));

  it('accepts the metrics of every role', async () => {
    promtool(['--version']);
    for (const text of Object.values(await metricsOfEveryRole())) promtool(['check', 'metrics'], text);
  });
});
