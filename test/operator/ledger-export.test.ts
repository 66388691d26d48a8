/** Proves that cells of the exported ledger are safe to open in a spreadsheet and lose nothing. */

import { expect } from 'chai';
import type { LedgerEntry } from '../../src/ledger/index.ts';
import { exportText } from '../../src/operator/ledger-export.ts';

const ENTRY: LedgerEntry = {
  entryId: '7-1',
  transactionId: 'movement-7',
  kind: 'movement' as LedgerEntry['kind'],
  account: 'custody',
  asset: 'USDC',
  scale: 6,
  amountAtoms: -1_500_000n,
  reference: 'r',
  timeMs: 0,
};

async function* only(entry: LedgerEntry): AsyncGenerator<LedgerEntry> {
  yield entry;
}

async function exported(changed: Partial<LedgerEntry>, format: 'csv' | 'jsonl'): Promise<string> {
  let text = '';
  for await (const chunk of exportText(only({ ...ENTRY, ...changed }), format, true)) text += chunk;
  return text;
}

/** Parses the cells of one record as RFC 4180 defines them. */
const cellsOf = (line: string): string[] =>
  [...line.replace(/\n$/, '').matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!,
  );

/** Reverts the escaping, as the help of `ledger export` tells importers to do. */
const undone = (cell: string): string => cell.replace(/^'(?='*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/, '');

const FORMULAS = [
  '=HYPERLINK("http://x.example","y")',
  '=1+1',
  '+1+1|cmd',
  '-1+1',
  '-5',
  '@SUM(1+1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1+1',
  '＋1',
  '－1',
  '＠SUM(1)',
  "'=1+1",
  "''@x",
  '=',
  '-',
];
const TEXTS = [
  'r',
  'a=b',
  "'quoted",
  "it's",
  'a;b',
  'a\tb',
  'a\nb',
  'a,"b"',
  ' =1',
  '(1)',
  '',
  '0x-1',
  '1-1',
];
const COLUMNS = ['transactionId', 'kind', 'account', 'asset', 'reference'] as const;
const POSITIONS = { transactionId: 2, kind: 3, account: 4, asset: 5, reference: 7 };

describe('operator: cells of the exported ledger', () => {
  for (const column of COLUMNS)
    it(`puts an apostrophe before a formula in ${column}`, async () => {
      for (const formula of FORMULAS) {
        const line = await exported({ [column]: formula }, 'csv');
        expect(cellsOf(line)[POSITIONS[column]], JSON.stringify(formula)).to.equal(`'${formula}`);
        expect(line).to.include(`"'`);
      }
    });

  it('leaves other texts as they are', async () => {
    for (const reference of TEXTS)
      expect(cellsOf(await exported({ reference }, 'csv'))[POSITIONS.reference]).to.equal(reference);
  });

  it('can be undone, whatever the text is', async () => {
    for (const reference of [...FORMULAS, ...TEXTS]) {
      const cell = cellsOf(await exported({ reference }, 'csv'))[POSITIONS.reference]!;
      expect(undone(cell), JSON.stringify(reference)).to.equal(reference);
    }
  });

  it('keeps negative amounts numbers', async () => {
    expect(await exported({}, 'csv')).to.include(',USDC,-1.5,r\n');
  });

  it('quotes a semicolon, at which some spreadsheets split cells', async () => {
    expect(await exported({ reference: 'memo;=1+1' }, 'csv')).to.match(/,"memo;=1\+1"\n$/);
  });

  it('has every text as it is in lines of JSON', async () => {
    for (const reference of FORMULAS)
      expect(JSON.parse(await exported({ reference }, 'jsonl')).reference).to.equal(reference);
  });
});
