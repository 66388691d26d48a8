/**
 * Gives each request an id and each reply its first headers. When a request ends, counts it in the metrics and logs it.
 */

import type { Request, Response } from 'express';
import type { Level } from 'pino';
import type { ClientAddressOf } from '../../edge/client-address.ts';
import { requestIdOf } from '../../edge/request-id.ts';
import { loggedUrl } from '../../process/redact.ts';
import type { RepeatedLines } from '../../process/repeated-lines.ts';
import { addHeader, beginReply, type ReplyState, secondsOf, stateOf } from '../response/index.ts';
import type { ProbeServices } from '../services.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** Status that proxies log when the client disconnects before the end of the reply. */
const CLIENT_CLOSED = 499;

/**
 * Logs method, URL, status and time, but no headers and no body. For repeated lines with the same status and route, it
 * logs the first ones and then a count. Probes and successful requests are logged at debug level: the metrics count
 * them, and a line for each costs a tenth of the throughput.
 */
export function observer(
  { logger, metrics }: ProbeServices,
  repeated: RepeatedLines,
  addressOf: ClientAddressOf,
) {
  // One function for all requests, because a closure per request is costly to garbage-collect.
  function onClose(this: Response): void {
    const state = stateOf(this);
    const seconds = secondsOf(state);
    const { method, url } = this.req;
    const status = this.writableFinished ? this.statusCode : CLIENT_CLOSED;
    metrics.endRequest(method, state.route, status, seconds);
    const level = levelOf(status, state);
    if (!logger.isLevelEnabled(level)) return;
    if (level !== 'debug' && !repeated.allows(`${status} ${state.route}`)) return;
    const { requestId } = state;
    logger[level]({ requestId, method, url: loggedUrl(url), status, seconds }, 'request');
  }
  return (request: Request, response: Response): void => {
    const requestId = requestIdOf(request.headers['x-request-id']);
    beginReply(response, requestId, addressOf, SECURITY_HEADERS);
    addHeader(response, 'X-Request-Id', requestId);
    metrics.beginRequest();
    response.on('close', onClose);
  };
}

function levelOf(status: number, { isProbe }: ReplyState): Level {
  if (isProbe) return 'debug';
  if (status >= 500) return 'warn';
  return status >= 400 ? 'info' : 'debug';
}
