/**
 * `/operator/v1/balances`, `/fees`, `/volumes`, `/movements` and `/entries`: reports of any length for finance, as the
 * commands print them.
 */

import type { z } from 'zod';
import {
  balancesRequest,
  entriesRequest,
  movementsOfSpanRequest,
  turnoverRequest,
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
import type { OperatorEndpoint, OperatorServices } from './services.ts';

const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};

type Format = keyof typeof CONTENT_TYPES;

const reportEndpoint = <Asked extends { readonly format: Format; readonly after?: string | undefined }>(
  request: z.ZodType<Asked>,
  make: (ledger: OperatorServices['ledger'], asked: Asked) => Promise<Report>,
): OperatorEndpoint => ({
  request,
  async handle({ services, query }) {
    const asked = checked(request, query);
    const report = await make(services.ledger, asked);
    return {
      contentType: CONTENT_TYPES[asked.format],
      chunks: reportText(report, asked.format, asked.after !== undefined),
    };
  },
});

const spanOf = ({ from, to }: { readonly from: number; readonly to: number }) => ({ fromMs: from, toMs: to });

export const getBalances = reportEndpoint(balancesRequest, (ledger, { asOf, wallet, asset }) =>
  balancesReport(ledger, asOf, { account: wallet, asset }),
);

export const getFees = reportEndpoint(turnoverRequest, (ledger, asked) =>
  feesReport(ledger, spanOf(asked), asked.by),
);

export const getVolumes = reportEndpoint(turnoverRequest, (ledger, asked) =>
  volumesReport(ledger, spanOf(asked), asked.by),
);

export const getMovements = reportEndpoint(movementsOfSpanRequest, (ledger, { wallet, asset, ...asked }) =>
  movementsReport(ledger, { ...spanOf(asked), wallet, asset }),
);

export const getEntries = reportEndpoint(entriesRequest, (ledger, { wallet, asset, after, ...asked }) =>
  entriesReport(ledger, { ...spanOf(asked), account: wallet, asset, after }),
);
