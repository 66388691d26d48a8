/** The one place where what went wrong becomes a reply. */

import type { ErrorRequestHandler, RequestHandler } from 'express';
import { type ErrorCode, Refusal } from '../../domain/errors.ts';
import { errorRecord } from '../redact.ts';
import { refusalAnswer, unexpectedAnswer } from '../replies/error.ts';
import { send } from '../send.ts';
import type { ProbeServices } from '../services.ts';

export const unknownRoute: RequestHandler = (_request, response) => {
  send(response, unexpectedAnswer('NOT_FOUND'));
};

/** Refuses a URL with a percent sign that stands for nothing, before anything decodes it leniently. */
export const refuseBadUrl: RequestHandler = ({ url }, _response, next) => {
  if (url.includes('%')) {
    try {
      decodeURIComponent(url);
    } catch {
      throw new Refusal('EXPRESS_ERR_INVALID_URL');
    }
  }
  next();
};

/** What Express' body reader calls what it refuses. */
const BODY_ERRORS: Readonly<Record<string, ErrorCode>> = {
  'entity.too.large': 'EXPRESS_ERR_BODY_TOO_LARGE',
  'encoding.unsupported': 'EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE',
  'request.aborted': 'EXPRESS_ERR_BODY_ABORTED',
  'request.size.invalid': 'EXPRESS_ERR_BODY_ABORTED',
};

function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  const code = BODY_ERRORS[(error as { type?: string } | null)?.type ?? ''];
  return code && new Refusal(code);
}

export const errorReply =
  ({ logger }: ProbeServices): ErrorRequestHandler =>
  (error, _request, response, _next) => {
    const refusal = refusalOf(error);
    const requestId = response.locals.requestId;
    if (refusal === undefined) logger.error({ error: errorRecord(error), requestId }, 'unexpected error');
    else if (refusal.cause !== undefined)
      logger.warn({ error: errorRecord(refusal), requestId }, 'refused for a reason within');
    if (response.headersSent) response.destroy();
    else send(response, refusal === undefined ? unexpectedAnswer('INTERNAL_ERROR') : refusalAnswer(refusal));
  };
