/** Checks a request against its schema. */

import type { z } from 'zod';
import { Refusal } from '../domain/errors.ts';

/** Writes validation failures as one line: `price: must be positive; side: …`. */
const describeIssues = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ');

/** @throws Refusal VALIDATION_ERROR that names the fields */
export function checked<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (!result.success) throw new Refusal('VALIDATION_ERROR', describeIssues(result.error));
  return result.data;
}
