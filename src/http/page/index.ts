/**
 * The trading page, at `/` and at the `trade_url` of each market. It is no part of the API: nothing of it needs a
 * session, and nothing of it is read by clients.
 */

import type { Request, RequestHandler, Response } from 'express';
import { Refusal } from '../../domain/errors.ts';
import type { Engine } from '../../engine/index.ts';
import { marketOfTicker } from '../endpoints/market-data/ticker.ts';
import { isLocalCaller } from '../local-caller.ts';
import type { Cors } from '../middleware/cors.ts';
import { send, sendPublic } from '../response/index.ts';
import type { Services } from '../services.ts';
import { type BundleFile, readBundle } from './bundle.ts';
import { type PageSettings, pageDocument } from './document.ts';
import { documentHeaders, sameOriginOnly } from './headers.ts';

interface PageRoute {
  readonly path: string;
  readonly setHeaders: Cors;
  readonly handle: RequestHandler;
}

/** For addresses that name the content. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** All of them are answered to `GET`. */
export function pageRoutes(services: Services): PageRoute[] {
  const bundle = readBundle();
  if (bundle === undefined)
    services.logger.warn('the trading page is not bundled: `node src/web/bundle.mjs` bundles it');
  const setHeaders = documentHeaders(services.settings.webUrl);
  const answer = (request: Request, response: Response, root: string, status: number): void => {
    if (bundle === undefined) throw new Refusal('SERVICE_UNAVAILABLE', 'the trading page is not bundled');
    const text = pageDocument({ bundle, settings: settingsFor(request, services), root });
    send(response, { status, contentType: 'text/html; charset=utf-8', text });
  };
  return [
    { path: '/', setHeaders, handle: (request, response) => answer(request, response, '', 200) },
    {
      path: '/trade/:ticker_id',
      setHeaders,
      async handle(request, response) {
        const known = await mayBeMarket(services.engine, String(request.params.ticker_id));
        answer(request, response, '../', known ? 200 : 404);
      },
    },
    ...Array.from(bundle?.files ?? [], ([path, file]) => ({
      path: `/${path}`,
      setHeaders: sameOriginOnly,
      handle: bundleFile(file),
    })),
  ];
}

const settingsFor = (request: Request, { settings }: Services): PageSettings => ({
  service: settings.serviceName,
  demo: settings.demoFaucet && isLocalCaller(request),
});

/** Returns false only when the engine says that no market has this ticker id. While it is away, the page is shown. */
async function mayBeMarket(engine: Engine, tickerId: string): Promise<boolean> {
  try {
    await marketOfTicker(engine, tickerId.toUpperCase());
    return true;
  } catch (error) {
    if (error instanceof Refusal) return error.code !== 'NOT_FOUND';
    throw error;
  }
}

/**
 * During a rolling change a replica is asked for a file of another release. It answers with its own, which no cache may
 * keep under the name of the other.
 */
const bundleFile =
  ({ hash, answer }: BundleFile): RequestHandler =>
  (request, response) =>
    sendPublic(request, response, answer, request.query.v === hash ? FOR_GOOD : 'no-store');
