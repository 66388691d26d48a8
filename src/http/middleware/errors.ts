/** Turns every error into a reply. */

import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { isReported, Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../../process/redact.ts';
import type { RepeatedLines } from '../../process/repeated-lines.ts';
import { refusalReply, unexpectedReply } from '../replies/error.ts';
import { addHeader, type ReplyState, send, stateOf } from '../response/index.ts';
import type { ProbeServices } from '../services.ts';

export const unknownRoute: RequestHandler = (_request, response) => {
  send(response, unexpectedReply('NOT_FOUND'));
};

export const notStarted: RequestHandler = (_request, response) => {
  send(response, refusalReply(new Refusal('SERVICE_UNAVAILABLE', 'the service is starting')));
};

export const errorReply =
  ({ logger }: ProbeServices, repeated: RepeatedLines): ErrorRequestHandler =>
  (error, _request, response, _next) => {
    report(logger, repeated, error, stateOf(response));
    if (error instanceof Refusal && error.retryAfterSeconds !== undefined) {
      addHeader(response, 'Retry-After', String(error.retryAfterSeconds));
    }
    if (response.headersSent) response.destroy();
    else send(response, isReported(error) ? refusalReply(error) : unexpectedReply('INTERNAL_ERROR'));
  };

/**
 * Logs an error. Most refusals concern only the client. Errors that an operator must see get a level that raises an
 * alert.
 */
export function report(
  logger: Logger,
  repeated: RepeatedLines,
  error: unknown,
  { requestId, route }: ReplyState,
): void {
  if (!isReported(error)) {
    if (repeated.allows(`unexpected error ${route}`))
      logger.error({ error: errorRecord(error), requestId }, 'unexpected error');
  } else if (error.code === 'SETTLEMENT_FAILED') {
    const advice = 'a match could not be settled and its market is halted: reconcile, then resume it';
    logger.error({ requestId }, advice);
  } else if (error.cause !== undefined) {
    if (repeated.allows(`failure within ${route}`))
      logger.warn({ error: errorRecord(error), requestId }, 'refused because of an internal failure');
  }
}
