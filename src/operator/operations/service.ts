/** Pauses and resumes trading, and sets the terms. */

import { z } from 'zod';
import { validText } from '../../contract/fields.ts';
import { reason, reasonRequest } from '../../contract/operator.ts';
import { readTermsVersion } from '../arguments.ts';
import { type Noun, operation, replyNames } from '../operation.ts';
import { shortResult } from '../verb.ts';

const tradingSchema = z.strictObject({ paused: z.boolean() }).register(replyNames, { id: 'Trading' });

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
      needsReason: true,
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
      needsReason: true,
      describe: (command) => command.description('accept new orders again'),
      answer: ({ reply }) => shortResult('trading goes on', reply),
    },
  ],
});

const requireTerms = operation({
  id: 'requireTerms',
  tag: 'Service',
  summary: 'Requires a version of the terms, or none',
  method: 'POST',
  path: '/terms',
  rights: ['market'],
  body: z.strictObject({
    version: validText(128).nullable().describe('null: no terms are required'),
    reason,
  }),
  reply: z
    .strictObject({ requiredVersion: z.string().nullable() })
    .register(replyNames, { id: 'RequiredTerms' }),
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

export const TRADING: Noun = {
  name: 'trading',
  description: 'pause and resume trading',
  parts: [pauseTrading, resumeTrading],
};

export const TERMS: Noun = {
  name: 'terms',
  description: 'set the terms that wallets must accept before they place orders',
  parts: [requireTerms],
};
