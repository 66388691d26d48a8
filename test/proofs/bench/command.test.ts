/**
 * Tests the bench's command line, its output documents and the checkout of an older release. Asserts no measured
 * figure.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { bench } from './command.ts';
import { judge, type Measured, renderFigures, tableOf } from './figures.ts';
import { checkOut, type OlderRelease, PRESENT } from './older-release.ts';

const MISSING = 'no-such-revision';

/** Row whose reference is a figure of the older release, if that release can run here. */
const against = ({ folder, revision, because }: OlderRelease): Measured => ({
  name: 'orders',
  unit: '/s',
  figure: 30,
  target: { relation: '>=', bound: 2 },
  reference: { name: revision, figure: folder === undefined ? null : 10 },
  ...(because === undefined ? {} : { note: because }),
});

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const missed = { name: 'order', unit: 'µs', figure: 2 };
const reportedTarget = { relation: '<=', bound: 1, isReported: true } as const;

async function run(...args: string[]): Promise<Said> {
  const out = new PassThrough({ encoding: 'utf8' });
  const err = new PassThrough({ encoding: 'utf8' });
  const code = await bench(['--against', MISSING, ...args], out, err, {
    engine: async (older) => tableOf('engine', 'of a test', [against(older)]),
    memory: async () => tableOf('memory', 'of a test', [{ name: 'order', unit: 'bytes', figure: 1_234 }]),
    http: async () => tableOf('http', 'of a test', [{ ...missed, target: { relation: '<=', bound: 1 } }]),
    reads: async () => tableOf('reads', 'of a test', [{ ...missed, target: reportedTarget }]),
    streams: () => Promise.reject(new Error('no wallet may have so many orders')),
  });
  return { code, out: out.read() ?? '', err: err.read() ?? '' };
}

describe('bench: the command', () => {
  it('rejects an unknown table and lists the known ones', async () => {
    const { code, out, err } = await run('sizing');
    expect({ code, out }).to.deep.equal({ code: 2, out: '' });
    expect(err).to.include(
      'no table sizing; there are: engine, costs, http, waiters, settlement, streams, market-data, memory, reads',
    );
  });

  it('rejects an unknown option', async () => {
    expect((await run('engine', '--fast')).code).to.equal(2);
  });

  it('writes one JSON document with the requested tables, in the requested order', async () => {
    const { code, out } = await run('memory', 'engine', '--json');
    expect(code, 'a row that could not be measured').to.equal(1);
    expect(JSON.parse(out)).to.deep.equal({
      against: MISSING,
      tables: [
        {
          name: 'memory',
          title: 'of a test',
          rows: [{ name: 'order', unit: 'bytes', figure: 1_234, ratio: null, verdict: null }],
        },
        {
          name: 'engine',
          title: 'of a test',
          rows: [
            {
              name: 'orders',
              unit: '/s',
              figure: 30,
              target: { relation: '>=', bound: 2 },
              reference: { name: MISSING, figure: null },
              note: `the history has no ${MISSING}`,
              ratio: null,
              verdict: 'not measured',
            },
          ],
        },
      ],
    });
  });

  it('prints each table with figure, reference, ratio, target and verdict', async () => {
    const { out } = await run('engine');
    expect(out).to.match(/^\nengine: of a test\n\n +figure +reference +of +ratio +target\n/);
    expect(out).to.match(/orders +30\.0 \/s +- +no-such-revision +>= 2x +not measured/);
    const table = tableOf('engine', '', [
      against({ revision: 'older', folder: '/', remove: () => undefined }),
    ]);
    expect(renderFigures(table)).to.match(/orders +30\.0 \/s +10\.0 \/s +older +3\.00x +>= 2x +held/);
  });

  it('ends with 1 when a judged row is not held, and with 0 when only a reported one is not', async () => {
    expect((await run('http', 'memory')).code).to.equal(1);
    expect((await run('memory', 'reads')).code).to.equal(0);
  });

  it('makes the other tables and ends with 1 when one fails', async () => {
    const { code, out, err } = await run('streams', 'memory');
    expect(code).to.equal(1);
    expect(err).to.include('streams failed: Error: no wallet may have so many orders');
    expect(out).to.include('memory: of a test');
  });

  it('compares a target with the ratio if there is a reference, else with the figure', () => {
    const target = { relation: '<=', bound: 1 } as const;
    const row = { name: '', unit: '', target };
    const verdict = (measured: Measured): unknown => judge(measured).verdict;
    expect(verdict({ ...row, figure: 2, reference: { name: '', figure: 2 } })).to.equal('held');
    expect(verdict({ ...row, figure: 2 })).to.equal('not held');
    expect(verdict({ ...row, figure: 2, target: { ...target, isReported: true } })).to.equal('reported');
    expect(verdict({ ...row, figure: null })).to.equal('not measured');
  });
});

describe('bench: an older release', () => {
  it('is checked out with the installed packages and removed completely', function () {
    if (!existsSync(join(PRESENT, '.git'))) this.skip();
    const worktrees = (): string =>
      execFileSync('git', ['worktree', 'list'], { cwd: PRESENT, encoding: 'utf8' });
    const older = checkOut('HEAD');
    expect(existsSync(join(older.folder!, 'node_modules/ioredis/package.json'))).to.equal(true);
    expect(worktrees()).to.include(older.folder!);
    older.remove();
    expect(existsSync(older.folder!)).to.equal(false);
    expect(worktrees()).not.to.include(older.folder!);
  });
});
