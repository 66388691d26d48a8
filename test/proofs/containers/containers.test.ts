/**
 * Proves that `npm run containers` finds the code blocks of the guides, and that it reports a missing engine in one
 * line.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { blockOf } from '../../support/guide.ts';
import { WAY_BACK } from './checks.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('npm run containers', () => {
  it('finds the code blocks of the guides', () => {
    const guide = readFileSync(`${ROOT}docs/operating.md`, 'utf8');
    const runbook = readFileSync(`${ROOT}docs/runbook.md`, 'utf8');
    const readme = readFileSync(`${ROOT}README.md`, 'utf8');
    expect(blockOf(guide, '**First session.**', 'sh')).to.include('market create ETH/USDC');
    expect(blockOf(guide, '### On Compose', 'sh')).to.include('--no-recreate');
    expect(blockOf(guide, WAY_BACK, 'sh')).to.match(/^REDBOOK_IMAGE=redbook:former docker compose up/);
    expect(blockOf(guide, '**Session key.**', 'sh')).to.include('--rotate-session-key');
    expect(blockOf(runbook, '**Object storage.**', 'ini')).to.include('PGBACKREST_REPO1_TYPE=s3\n');
    const entry = blockOf(runbook, '## When somebody added an entry', 'sh').trim().split('\n');
    expect(entry.map((line) => line.split(' ')[1])).to.deep.equal(['status', 'xtrim', 'xsetid']);
    expect(guide).to.match(
      /^17 3 \* \* 1-6 docker compose --project-directory \/srv\/redbook run -T --rm operator/m,
    );
    expect(blockOf(readme, '## A first session', 'js')).to.include('console.log');
    expect(blockOf(readme, '## A first session', 'sh')).to.include('npm run -s redbook -- ledger reconcile');
  });

  it('reports a missing engine in one line and exits with 3', () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--import=tsx', 'test/proofs/containers/main.ts'],
      {
        cwd: ROOT,
        env: { ...process.env, DOCKER: 'false', DOCKER_COMPOSE: 'false' },
        encoding: 'utf8',
      },
    );
    expect([status, stdout.trim().split('\n').length]).to.deep.equal([3, 1]);
    expect(stdout).to.include('DOCKER');
  });
});
