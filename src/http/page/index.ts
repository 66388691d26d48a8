/**
 * Serves the trading page at `/` and at the `trade_url` of each market. The page is not part of the API: it needs no
 * session, and API clients do not read it.
 */

import type { Request, RequestHandler, Response } from 'express';
import { Refusal } from '../../domain/errors.ts';
import type { Engine } from '../../engine/index.ts';
import { findMarketByTicker } from '../endpoints/market-data/ticker.ts';
import { localCallers } from '../local-caller.ts';
import type { Cors } from '../middleware/cors.ts';
import { send, sendPublic } from '../response/index.ts';
import type { Services } from '../services.ts';
import { type Bundle, type BundleFile, isOfDesk, readBundle } from './bundle.ts';
import { deskDocument, pageDocument } from './document.ts';
import { documentHeaders, sameOriginOnly } from './headers.ts';

interface PageRoute {
  readonly path: string;
  readonly setHeaders: Cors;
  readonly handle: RequestHandler;
}

/** Cache-Control of URLs that contain the content's hash. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Returns the routes of the page, all served for `GET`. */
export function pageRoutes(services: Services): PageRoute[] {
  const bundle = readBundle();
  if (bundle === undefined)
    services.logger.warn('the trading page is not bundled: `node src/web/bundle.mjs` bundles it');
  const { serviceName, demoFaucet, webUrl, webHosts } = services.settings;
  const isLocalCaller = localCallers(webHosts);
  const setHeaders = documentHeaders(webUrl);
  const reply = (request: Request, response: Response, root: string, status: number): void => {
    if (bundle === undefined) throw new Refusal('SERVICE_UNAVAILABLE', 'the trading page is not bundled');
    const text = pageDocument({ bundle, serviceName, demo: demoFaucet && isLocalCaller(request), root });
    send(response, { status, contentType: 'text/html; charset=utf-8', text });
  };
  return [
    { path: '/', setHeaders, handle: (request, response) => reply(request, response, '', 200) },
    {
      path: '/trade/:ticker_id',
      setHeaders,
      async handle(request, response) {
        const known = await mayBeMarket(services.engine, String(request.params.ticker_id));
        reply(request, response, '../', known ? 200 : 404);
      },
    },
    ...fileRoutes(bundle, (path) => !isOfDesk(path)),
  ];
}

/** Returns the routes of the desk of operators, all served for `GET`. */
export function deskRoutes({ serviceName }: { readonly serviceName: string }): PageRoute[] {
  const bundle = readBundle();
  const handle: RequestHandler = (_request, response) => {
    if (bundle === undefined) throw new Refusal('SERVICE_UNAVAILABLE', 'the desk is not bundled');
    const text = deskDocument(bundle, serviceName);
    send(response, { status: 200, contentType: 'text/html; charset=utf-8', text });
  };
  const isNeeded = (path: string): boolean =>
    isOfDesk(path) || path.endsWith('icon.svg') || path.endsWith('notice.txt');
  return [{ path: '/', setHeaders: documentHeaders(), handle }, ...fileRoutes(bundle, isNeeded)];
}

const fileRoutes = (bundle: Bundle | undefined, isServed: (path: string) => boolean): PageRoute[] =>
  [...(bundle?.files ?? [])]
    .filter(([path]) => isServed(path))
    .map(([path, file]) => ({ path: `/${path}`, setHeaders: sameOriginOnly, handle: bundleFile(file) }));

/**
 * Returns false only if the engine answers that no market has this ticker id. While the engine is unavailable, the page
 * is shown.
 */
async function mayBeMarket(engine: Engine, tickerId: string): Promise<boolean> {
  try {
    await findMarketByTicker(engine, tickerId.toUpperCase());
    return true;
  } catch (error) {
    if (error instanceof Refusal) return error.code !== 'NOT_FOUND';
    throw error;
  }
}

/**
 * Serves a file of the bundle. During a rolling release, a replica may be asked for a file of another release. It then
 * sends its own file, which no cache may keep under that URL.
 */
const bundleFile =
  ({ hash, reply }: BundleFile): RequestHandler =>
  (request, response) =>
    sendPublic(request, response, reply, request.query.v === hash ? FOR_GOOD : 'no-store');
