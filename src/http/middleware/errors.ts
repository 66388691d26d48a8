/** The one place where what went wrong becomes a reply. */

import type { ErrorRequestHandler, RequestHandler } from 'express';
import { Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../redact.ts';
import { refusalAnswer, unexpectedAnswer } from '../replies/error.ts';
import { send } from '../send.ts';
import type { ProbeServices } from '../services.ts';

export const unknownRoute: RequestHandler = (_request, response) => {
  send(response, unexpectedAnswer('NOT_FOUND'));
};

/** @throws Refusal for a URL with a percent sign that stands for nothing, which would be decoded leniently. */
export function checkUrl(url: string): void {
  if (!url.includes('%')) return;
  try {
    decodeURIComponent(url);
  } catch {
    throw new Refusal('EXPRESS_ERR_INVALID_URL');
  }
}

export const errorReply =
  ({ logger }: ProbeServices): ErrorRequestHandler =>
  (error, _request, response, _next) => {
    const refusal = error instanceof Refusal ? error : undefined;
    const requestId = response.locals.requestId;
    if (refusal === undefined) logger.error({ error: errorRecord(error), requestId }, 'unexpected error');
    else if (refusal.cause !== undefined)
      logger.warn({ error: errorRecord(refusal), requestId }, 'refused for a reason within');
    if (response.headersSent) response.destroy();
    else send(response, refusal === undefined ? unexpectedAnswer('INTERNAL_ERROR') : refusalAnswer(refusal));
  };
