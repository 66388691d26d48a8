/** Carries out an operation for a request. */

import type { Request } from 'express';
import { checked } from '../../contract/checked.ts';
import { Refusal } from '../../domain/errors.ts';
import type { OperatorKey } from '../../domain/operator-rights.ts';
import type { Operation, OperationServices, TextOutcome } from '../../operator/operation.ts';
import { reportText } from '../../statements/report.ts';
import { pageReply } from '../endpoints/get-statement.ts';
import { readBody } from '../middleware/body.ts';
import { CSV_TYPE, JSON_TYPE, json, type Reply } from '../replies/reply.ts';
import type { ChunkedReply } from '../response/index.ts';
import type { ProbeServices } from '../services.ts';

/** Services that a process passes to its application for operators. */
export interface OperatorServices extends ProbeServices, OperationServices {
  readonly serviceName: string;
  /** Tells settlement that there are new events. Coalesces calls, returns at once and never throws. */
  wakeSettlement(): void;
}

/** A request of 64 movements with the longest texts is smaller. */
const BODY_LIMITS = { bytes: 256 * 1024, members: 512 };

/** @param parts values of the parts of the path; without them, the path is the one of the route */
export function pathOf({ path }: Pick<Operation, 'path'>, parts?: Readonly<Record<string, unknown>>): string {
  const filled = parts && path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(parts[name])));
  return `/operator/v1${filled ?? path}`;
}

/**
 * Checks the request of a key that may make it, and carries it out. Every act wakes settlement, whatever became of it.
 * @throws Refusal, OperatorRefusal
 */
export async function perform(
  operation: Operation,
  services: OperatorServices,
  key: OperatorKey,
  request: Request,
): Promise<Reply | ChunkedReply> {
  const { method, params, query, usualReason, run } = operation;
  const body = method === 'POST' ? await readBody(request, BODY_LIMITS) : undefined;
  const unknown = Object.keys(request.query).find((name) => !Object.hasOwn(query?.shape ?? {}, name));
  if (unknown !== undefined) throw new Refusal('VALIDATION_ERROR', `${unknown}: no such parameter`);
  const asked = {
    ...(params !== undefined && checked<object>(params, request.params)),
    ...(query !== undefined && checked<object>(query, request.query)),
  };
  if (method === 'GET') {
    const outcome = await run(services, asked, { act: { by: key.name, reason: '' }, key });
    return 'reply' in outcome ? json(outcome.reply) : textReply(outcome, pathOf(operation, asked));
  }
  const { reason = usualReason!, ...given } = checked<{ reason?: string }>(operation.body!, body);
  const report = (error: unknown): void =>
    services.logger.error({ err: error }, `a part of ${operation.id} failed`);
  try {
    const act = { by: key.name, reason };
    const { reply, isNew } = await run(services, { ...asked, ...given }, { act, key, report });
    return json(reply, operation.mayCreate && isNew ? 201 : 200);
  } finally {
    services.wakeSettlement();
  }
}

const CONTENT_TYPES = { json: JSON_TYPE, csv: CSV_TYPE };

function textReply(outcome: TextOutcome, path: string): Reply | ChunkedReply {
  if ('page' in outcome) return pageReply(outcome.page, path);
  const { report, file, ...as } = outcome;
  const chunks = reportText(report, as);
  return { contentType: CONTENT_TYPES[as.format], chunks, file: as.format === 'csv' ? file : undefined };
}
