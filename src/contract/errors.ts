/** Schemas of the two shapes of an error: docs/api.md 2.9. */

import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';

const rows = Object.entries(ERRORS).map(
  ([code, { status, meaning, producer }]) => `| \`${code}\` | ${status} | ${meaning} | ${producer} |`,
);

export const errorCode = z
  .enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])
  .describe(
    [
      'Codes are stable: none is renamed or reused. New codes may be added.',
      '',
      '| code | status | meaning | answered by |',
    ]
      .concat('|---|---|---|---|', rows)
      .join('\n'),
  );

export const errorSchema = z
  .strictObject({
    error: z.string().min(1).describe('message for people; its wording may change'),
    code: errorCode,
  })
  .meta({
    description: 'An error. Clients branch on its `code`.',
    examples: [{ error: 'size is below minOrderSize', code: 'ORDER_BELOW_MIN_SIZE' }],
  });

export const unexpectedErrorSchema = z
  .strictObject({
    statusCode: z.int().min(400).max(599),
    code: errorCode,
    error: z.string().min(1),
    message: z.string().min(1),
  })
  .meta({
    description: 'Unknown routes and unexpected errors.',
    examples: [
      {
        statusCode: 404,
        code: 'NOT_FOUND',
        error: 'Not Found',
        message: 'no such route or resource',
      },
    ],
  });
