/** Pauses and resumes trading, sets the terms, and lists the closed months. */

import {
  closingsSchema,
  reasonRequest,
  requiredTermsSchema,
  requireTermsRequest,
  tradingSchema,
} from '../../contract/operator.ts';
import { closingDocument } from '../../statements/books.ts';
import { column, renderTable } from '../../terminal/table.ts';
import { readTermsVersion } from '../arguments.ts';
import { operation } from '../operation.ts';
import { shortResult } from '../verb.ts';

export const pauseTrading = operation({
  id: 'pauseTrading',
  tag: 'Service',
  summary: 'Refuses new orders on all markets',
  description: 'Cancels, deposits and withdrawals continue.',
  method: 'POST',
  path: '/trading/pause',
  rights: ['pause'],
  body: reasonRequest,
  reply: tradingSchema,
  async run({ engine }, _input, { act }) {
    await engine.switches.pause(act);
    return { reply: { paused: true } };
  },
  verbs: [
    {
      verb: 'pause',
      describe: (command) =>
        command.description('refuse new orders on all markets; cancels and withdrawals continue'),
      answer: ({ reply }) => shortResult('trading is paused', reply),
    },
  ],
});

export const resumeTrading = operation({
  id: 'resumeTrading',
  tag: 'Service',
  summary: 'Accepts new orders again',
  method: 'POST',
  path: '/trading/resume',
  rights: ['pause'],
  body: reasonRequest,
  reply: tradingSchema,
  async run({ engine }, _input, { act }) {
    await engine.switches.resume(act);
    return { reply: { paused: false } };
  },
  verbs: [
    {
      verb: 'resume',
      describe: (command) => command.description('accept new orders again'),
      answer: ({ reply }) => shortResult('trading goes on', reply),
    },
  ],
});

export const requireTerms = operation({
  id: 'requireTerms',
  tag: 'Service',
  summary: 'Requires a version of the terms, or none',
  method: 'POST',
  path: '/terms',
  rights: ['market'],
  body: requireTermsRequest,
  reply: requiredTermsSchema,
  async run({ engine }, { version }, { act }) {
    await engine.switches.requireTerms(version, act);
    return { reply: { requiredVersion: version } };
  },
  verbs: [
    {
      verb: 'require',
      describe: (command) =>
        command
          .argument('<version>', 'terms version, as wallets send it when they accept', readTermsVersion)
          .description('require a version; wallets that have not accepted it can still read and cancel'),
      input: (version: string) => ({ version }),
      answer: ({ reply }) =>
        shortResult(`terms version ${JSON.stringify(reply.requiredVersion)} is required`, reply),
    },
    {
      verb: 'off',
      describe: (command) => command.description('require no terms'),
      input: () => ({ version: null }),
      answer: ({ reply }) => shortResult('no terms are required', reply),
    },
  ],
});

const CLOSINGS = ['MONTH', 'EVENT', 'BALANCES', 'CLOSED AT', 'DIGEST'].map((title) => column(title));

export const listClosings = operation({
  id: 'listClosings',
  tag: 'Finance',
  summary: 'Lists the closed months',
  method: 'GET',
  path: '/closings',
  rights: ['read'],
  reply: closingsSchema,
  async run({ ledger }) {
    const closings = await ledger.balances.closings();
    return { reply: { closings: closings.map(closingDocument) } };
  },
  verbs: [
    {
      verb: 'closings',
      describe: (command) => command.description('list the closed months'),
      answer({ reply }) {
        const rows = reply.closings.map(({ month, sequence, balances, closedAt, digest }) => [
          month,
          `${sequence}`,
          `${balances}`,
          closedAt,
          digest,
        ]);
        return { document: reply, text: (paint) => renderTable(CLOSINGS, rows, paint, '(no closings)') };
      },
    },
  ],
});
