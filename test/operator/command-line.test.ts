/** Tests the operator's command line: help, usage errors, and the services that a command opens. */

import { Writable } from 'node:stream';
import { expect } from 'chai';
import { runOperator } from '../../src/operator/command-line.ts';
import {
  Capture,
  marketRules,
  type OperatorFixture,
  type Outcome,
  openOperatorFixture,
  WALLET,
} from './fixture.ts';

/** Runs a command that must not need a server. */
async function runOffline(...argv: string[]): Promise<Outcome> {
  const out = new Capture();
  const err = new Capture();
  const open = (): never => expect.fail('no server may be asked');
  const status = await runOperator(argv, open, { out, err });
  return { status, stdout: out.text, stderr: err.text };
}

const VERBS: Record<string, string[]> = {
  market: ['create', 'set', 'clear', 'list'],
  asset: ['set'],
  account: ['credit', 'debit', 'show', 'hold', 'release'],
  order: ['void'],
  trading: ['pause', 'resume'],
  terms: ['require', 'off'],
  ledger: [
    ...[
      'reconcile',
      'balances',
      'statement',
      'fees',
      'volumes',
      'movements',
      'export',
      'close',
      'reopen',
      'closings',
      'checkpoint',
    ],
    'rebuild',
  ],
};

describe('operator: the command line', () => {
  describe('help, without any server', () => {
    it('lists the nouns', async () => {
      const { status, stdout, stderr } = await runOffline('--help');
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
      for (const noun of [...Object.keys(VERBS), 'status'])
        expect(stdout).to.match(new RegExp(`^  ${noun} `, 'm'));
    });

    for (const [noun, verbs] of Object.entries(VERBS)) {
      it(`describes ${noun} and each of its verbs`, async () => {
        const { status, stdout } = await runOffline(noun, '--help');
        expect(status).to.equal(0);
        const listed = [...stdout.matchAll(/^ {2}([a-z]+) .*$/gm)].map(([, verb]) => verb);
        expect(listed).to.include.members(verbs);
        for (const verb of verbs) {
          const help = await runOffline(noun, verb, '--help');
          expect(help.status).to.equal(0);
          expect(help.stdout)
            .to.match(new RegExp(`^Usage: redbook ${noun} ${verb}`))
            .and.to.contain('--json');
        }
      });
    }
  });

  describe('bad usage exits with status 2 and code BAD_USAGE, without any server', () => {
    const noReference = ['account', 'credit', WALLET(1), 'ETH', '1'];
    for (const argv of [
      [],
      ['market'],
      ['nonsense'],
      ['market', 'nonsense'],
      ['market', 'list', 'too', 'much'],
      ['market', 'create', 'ETH/USDC'],
      ['market', 'create', 'ETH/USDC', ...marketRules({ 'tick-size': 'many' })],
      ['market', 'create', 'ETH/USDC', ...marketRules({ 'tick-size': '1e400' })],
      ['market', 'create', 'ETH/USDC', ...marketRules({ 'fee-bps': '1.5' })],
      ['market', 'create', 'ETH/USDC', ...marketRules(), '--status', 'halted'],
      ['market', 'create', 'ETH/USDC', ...marketRules(), '--self-trade', 'allow'],
      ['market', 'set', 'ETH/USDC'],
      ['market', 'set', 'ETH/USDC', '--tick-size', '1'],
      ['market', 'set', 'ETH/USDC', '--visible', 'yes'],
      ['market', 'set', 'ETH/USDC', '--fee-bps', 'null'],
      ['asset', 'set', 'ETH'],
      ['asset', 'set', 'ETH', '--scale', ''],
      ['account', 'show'],
      ['account', 'show', '0x12'],
      ['account', 'show', `${WALLET(1)}0`],
      ['account', 'show', 'house'],
      ['account', 'hold', '0xg000000000000000000000000000000000000000'],
      noReference,
      ['account', 'credit', WALLET(1), 'ETH', 'ten', '--reference', 'r'],
      ['account', 'credit', WALLET(1), 'ETH', '', '--reference', 'r'],
      ['account', 'credit', WALLET(1), 'ETH', '0x10', '--reference', 'r'],
      ['account', 'credit', WALLET(1), 'ETH', '--reference', 'r'],
      ['account', 'debit', WALLET(1), 'ETH', 'Infinity', '--reference', 'r'],
      ['order', 'void'],
      ['terms', 'require'],
      ['terms', 'require', ''],
      ['ledger', 'export'],
      ['ledger', 'export', '--from', 'yesterday', '--to', '2026-01-01'],
      ['ledger', 'export', '--from', '2026-02-31', '--to', '2026-04-01'],
      ['ledger', 'export', '--from', '2026-01-01T00:00:00', '--to', '2026-04-01'],
      ['ledger', 'export', '--from', '2026-01-01', '--to', '2026-04-01', '--format', 'xml'],
      ['ledger', 'export', '--from', '2026-01-01', '--to', '2026-04-01', '--after', '12'],
      ['ledger', 'reconcile', '--patience', 'long'],
      ['ledger', 'balances'],
      ['ledger', 'balances', '--as-of', 'now'],
      ['ledger', 'statement', '--from', '2026-01-01', '--to', '2026-02-01'],
      ['ledger', 'fees', '--from', '2026-01-01', '--to', '2026-02-01', '--by', 'day,hour'],
      ['ledger', 'close', '2026-13'],
      ['ledger', 'checkpoint', '--every', 'often'],
      ['ledger', 'checkpoint', '--every', '1h'],
      ['ledger', 'fees', '--from', '2026-02-01', '--to', '2026-01-31', '--by', 'day'],
      ['ledger', 'statement', '--from', '2026-02-01', '--to', '2026-01-31', '--wallet', WALLET(1)],
      ['ledger', 'export', '--from', '2026-02-01', '--to', '2026-01-31'],
      ...['abc', '-1', '1e400', '99999999999999999999'].map((after) => [
        'withdrawal',
        'list',
        '--after',
        after,
      ]),
      ['ledger', 'rebuild', 'now'],
      ['status', 'now'],
      ['status', '--verbose'],
    ]) {
      it(`redbook ${argv.join(' ')}`, async () => {
        const { status, stdout, stderr } = await runOffline(...argv);
        expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
        expect(stderr).to.match(/^BAD_USAGE: \S/);
        const inJson = await runOffline(...argv, '--json');
        expect(inJson).to.include({ status: 2, stdout: '' });
        const { error, code } = JSON.parse(inJson.stderr);
        expect(code).to.equal('BAD_USAGE');
        expect(error)
          .to.be.a('string')
          .and.not.match(/^error/);
      });
    }
  });

  describe('services', () => {
    let fixture: OperatorFixture;
    before(async () => {
      fixture = await openOperatorFixture();
    });
    after(() => fixture.close());

    it('are opened once, and closed also after a refusal', async () => {
      await fixture.run('market', 'list');
      await fixture.run('market', 'clear', 'NO/SUCH', '--reason', 'a test');
      expect(fixture.opened).to.deep.equal({ times: 2, closed: 2 });
    });

    it('are reported with a code when they cannot be opened', async () => {
      const out = new Capture();
      const err = new Capture();
      const open = async (): Promise<never> => {
        throw new Error('nothing runs here');
      };
      expect(await runOperator(['status'], open, { out, err })).to.equal(1);
      expect([out.text, err.text]).to.deep.equal(['', 'SERVICE_UNAVAILABLE: nothing runs here\n']);
    });

    it('accepts --json also before the noun', async () => {
      const { stdout } = await fixture.run('--json', 'market', 'list');
      expect(JSON.parse(stdout)).to.deep.equal({ markets: [] });
    });

    it('uses colours only on a terminal that shows them', async () => {
      const plain = await fixture.run('market', 'list');
      expect(plain.stdout).to.equal('(no markets)\n');
      const out = Object.assign(new Capture(), { isTTY: true, hasColors: () => true });
      await runOperator(['market', 'list'], async () => fixture.services, { out, err: new Capture() });
      expect(out.text).to.contain('\u001b[').and.to.contain('(no markets)');
    });

    it('exits quietly when its reader has closed the pipe', async () => {
      const out = new Writable({
        write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
      });
      const err = new Capture();
      expect(await runOperator(['status'], async () => fixture.services, { out, err })).to.equal(0);
      expect(err.text).to.equal('');
    });
  });
});
