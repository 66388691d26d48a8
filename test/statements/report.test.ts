/** Proves that cells of reports are safe to open in a spreadsheet and lose nothing. */

import { expect } from 'chai';
import { amountColumn, reportText, textColumns } from '../../src/statements/report.ts';

const COLUMNS = [...textColumns('account', 'asset'), amountColumn('amount'), ...textColumns('reference')];
const ROW = { account: 'custody', asset: 'USDC', amount: '-1.5', reference: 'r' };
const TEXT_COLUMNS = ['account', 'asset', 'reference'] as const;
const POSITIONS = { account: 0, asset: 1, reference: 3 };

async function* only<Item>(item: Item): AsyncGenerator<Item> {
  yield item;
}

async function exported(changed: Partial<typeof ROW>, format: 'csv' | 'jsonl'): Promise<string> {
  let text = '';
  const rows = only(Object.values({ ...ROW, ...changed }));
  const report = { facts: {}, list: 'entries', columns: COLUMNS, rows };
  for await (const chunk of reportText(report, format, true)) text += chunk;
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
describe('cells of a report', () => {
  for (const column of TEXT_COLUMNS)
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
