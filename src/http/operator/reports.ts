/**
 * `/operator/v1/balances`, `/fees`, `/volumes`, `/movements` and `/entries`: reports of any length for finance, as the
 * commands print them.
 */

import type { z } from 'zod';
import {
  balancesRequest,
  balancesSchema,
  reportText as csvText,
  entriesRequest,
  entriesSchema,
  feesSchema,
  movementsOfSpanRequest,
  movementsOfSpanSchema,
  turnoverRequest,
  volumesSchema,
} from '../../contract/reports.ts';
import {
  balancesReport,
  entriesReport,
  feesReport,
  movementsReport,
  volumesReport,
} from '../../statements/books.ts';
import { type Report, reportText } from '../../statements/report.ts';
import { checked } from '../checked.ts';
import { type OperatorRoute, type OperatorServices, operatorRoute } from './route.ts';

const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};

type Format = keyof typeof CONTENT_TYPES;

const reported =
  <Asked extends { readonly format: Format; readonly after?: string | undefined }>(
    request: z.ZodType<Asked>,
    make: (ledger: OperatorServices['ledger'], asked: Asked) => Promise<Report>,
  ): OperatorRoute['handle'] =>
  async ({ services, query }) => {
    const asked = checked(request, query);
    const report = await make(services.ledger, asked);
    return {
      contentType: CONTENT_TYPES[asked.format],
      chunks: reportText(report, asked.format, asked.after !== undefined),
    };
  };

const REPORT_TEXT = { 'text/csv': csvText };

const spanOf = ({ from, to }: { readonly from: number; readonly to: number }) => ({ fromMs: from, toMs: to });

export const getBalances = operatorRoute({
  method: 'GET',
  path: '/balances',
  rights: ['read'],
  id: 'listBalances',
  tag: 'Finance',
  summary: 'Lists the balances of all accounts at a time, and their sums by asset',
  reply: balancesSchema,
  alsoAs: REPORT_TEXT,
  codes: ['UNKNOWN_ASSET'],
  request: balancesRequest,
  handle: reported(balancesRequest, (ledger, { asOf, wallet, asset }) =>
    balancesReport(ledger, asOf, { account: wallet, asset }),
  ),
});

export const getFees = operatorRoute({
  method: 'GET',
  path: '/fees',
  rights: ['read'],
  id: 'sumFees',
  tag: 'Finance',
  summary: 'Sums the fees that the house earned in a span of time',
  reply: feesSchema,
  alsoAs: REPORT_TEXT,
  request: turnoverRequest,
  handle: reported(turnoverRequest, (ledger, asked) => feesReport(ledger, spanOf(asked), asked.by)),
});

export const getVolumes = operatorRoute({
  method: 'GET',
  path: '/volumes',
  rights: ['read'],
  id: 'sumVolumes',
  tag: 'Finance',
  summary: 'Sums the volumes of trades in a span of time',
  reply: volumesSchema,
  alsoAs: REPORT_TEXT,
  request: turnoverRequest,
  handle: reported(turnoverRequest, (ledger, asked) => volumesReport(ledger, spanOf(asked), asked.by)),
});

export const getMovements = operatorRoute({
  method: 'GET',
  path: '/movements',
  rights: ['read'],
  id: 'listMovements',
  tag: 'Finance',
  summary: 'Lists deposits and withdrawals in a span of time',
  reply: movementsOfSpanSchema,
  alsoAs: REPORT_TEXT,
  codes: ['UNKNOWN_ASSET'],
  request: movementsOfSpanRequest,
  handle: reported(movementsOfSpanRequest, (ledger, { wallet, asset, ...asked }) =>
    movementsReport(ledger, { ...spanOf(asked), wallet, asset }),
  ),
});

export const getEntries = operatorRoute({
  method: 'GET',
  path: '/entries',
  rights: ['read'],
  id: 'exportEntries',
  tag: 'Finance',
  summary: 'Returns the entries of the double-entry ledger in a span of time',
  description: 'To go on with an answer that was cut off, pass the id of its last whole entry as `after`.',
  reply: entriesSchema,
  alsoAs: REPORT_TEXT,
  codes: ['UNKNOWN_ASSET'],
  request: entriesRequest,
  handle: reported(entriesRequest, (ledger, { wallet, asset, after, ...asked }) =>
    entriesReport(ledger, { ...spanOf(asked), account: wallet, asset, after }),
  ),
});
