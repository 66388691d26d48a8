/** Proves that cells of reports are safe to open in a spreadsheet and lose nothing. */

import { expect } from 'chai';
import {
  amountColumn,
  plainColumns,
  type ReportAs,
  reportText,
  textColumns,
} from '../../src/statements/report.ts';

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
  for await (const chunk of reportText(report, { format, isResumed: true })) text += chunk;
  return text;
}

/** Parses the cells of one record as RFC 4180 defines them. */
const cellsOf = (line: string): string[] =>
  [...line.replace(/\n$/, '').matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!,
  );

/** Reverts the escaping, as the help of `ledger export` tells importers to do. */
const undone = (cell: string): string => cell.replace(/^'/, '');

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
  "'quoted",
  '=',
  '-',
];
/** A spreadsheet reads these as numbers, dates or truth values, and shows something else. */
const READ_OTHERWISE = [
  '0003000000000003070001000000000e66',
  '00300000000000030700010000000012345',
  '007',
  '1e5',
  '1.5E+3',
  '1234-0',
  '2026-3',
  '1/2',
  '3.4',
  '3,4',
  '10:30',
  ' 7',
  '5 %',
  '€5',
  '(1)',
  'MAR1',
  'sept 2026',
  '1-Jan',
  '3. März',
  'TRUE',
  'false',
];
const TEXTS = [
  'r',
  'a=b',
  "it's",
  'a;b',
  'a\tb',
  'a\nb',
  'a,"b"',
  '',
  '0x-1',
  '0003000000000003070001000000000f66',
  'trade-12',
  'Überweisung 12',
  'order 7',
  '2026-11-30T10:00:00.000Z',
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

  it('puts one before what a spreadsheet would read as a number, a date or a truth value', async () => {
    for (const reference of READ_OTHERWISE) {
      const cell = cellsOf(await exported({ reference }, 'csv'))[POSITIONS.reference]!;
      expect(cell, JSON.stringify(reference)).to.equal(`'${reference}`);
    }
  });

  it('keeps days, months and numbers of its own as they are', async () => {
    const columns = [
      ...textColumns('time', 'month'),
      ...plainColumns('month', 'tradeId'),
      ...textColumns('trades'),
    ];
    const rows = only(['2026-11-30T10:00:00.000Z', '2026-11', '2026-11', '12', 3]);
    let text = '';
    for await (const chunk of reportText({ facts: {}, list: 'all', columns, rows }, { format: 'csv' }))
      text += chunk;
    expect(text.split('\n')[1]).to.equal(`2026-11-30T10:00:00.000Z,"'2026-11",2026-11,12,3`);
  });

  it('leaves other texts as they are', async () => {
    for (const reference of TEXTS)
      expect(cellsOf(await exported({ reference }, 'csv'))[POSITIONS.reference]).to.equal(reference);
  });

  it('can be undone, whatever the text is', async () => {
    for (const reference of [...FORMULAS, ...READ_OTHERWISE, ...TEXTS]) {
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

  it('begin with a byte order mark when it is asked for, but not where a file goes on', async () => {
    const begins = async (asked: Omit<ReportAs, 'format'>): Promise<string> => {
      const report = { facts: {}, list: 'entries', columns: COLUMNS, rows: only(Object.values(ROW)) };
      return (await reportText(report, { format: 'csv', ...asked }).next()).value!.slice(0, 8);
    };
    expect(await begins({})).to.equal('account,');
    expect(await begins({ mark: true })).to.equal('\ufeffaccount');
    expect(await begins({ mark: true, isResumed: true })).to.equal('custody,');
  });

  it('has every text as it is in lines of JSON', async () => {
    for (const reference of FORMULAS)
      expect(JSON.parse(await exported({ reference }, 'jsonl')).reference).to.equal(reference);
  });
});
