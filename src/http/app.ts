/** The HTTP application: from the route table to Express. */

import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import type { Call, Endpoint, Query } from './endpoint.ts';
import { bearer } from './middleware/bearer.ts';
import { readBody } from './middleware/body.ts';
import { anyOrigin, preflight, webOrigins } from './middleware/cors.ts';
import { blockedCountry, refuseBlocked } from './middleware/country.ts';
import { errorReply, refuseBadUrl, unknownRoute } from './middleware/errors.ts';
import { observe } from './middleware/observe.ts';
import { type Method, PROBES, ROUTES, type Route } from './routes.ts';
import { send } from './send.ts';
import type { ProbeServices, Services } from './services.ts';

/** The whole API and the probes. */
export function createApp(services: Services): Express {
  const app = newApp(services, services.settings.trustProxyHops);
  addProbes(app, services);
  addRoutes(app, services);
  return closeApp(app, services);
}

/** The probes alone, for processes that serve no API. */
export function createProbeApp(services: ProbeServices): Express {
  const app = newApp(services, 0);
  addProbes(app, services);
  return closeApp(app, services);
}

/** Headers for pages are left out: no reply is one, and each costs a placement its time. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

const notStored: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

function newApp(services: ProbeServices, trustProxyHops: number): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', trustProxyHops);
  // Strict: `DELETE /v1/orders/` is a client that lost an order id, not one that wants to cancel everything.
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use(observe(services), securityHeaders, notStored, refuseBadUrl);
  return app;
}

function closeApp(app: Express, services: ProbeServices): Express {
  app.use(unknownRoute);
  app.use(errorReply(services));
  return app;
}

function addProbes(app: Express, services: ProbeServices): void {
  for (const [method, path, endpoint] of PROBES) {
    register(app, method, path, [
      named(path),
      serve(endpoint, (request) => callOf(request, services, false)),
    ]);
  }
}

/** The order within a route is the documented precedence: country or bearer, then the body, then the endpoint. */
function addRoutes(app: Express, services: Services): void {
  const { auth, settings } = services;
  const isBlocked = blockedCountry(settings);
  const webOnly = webOrigins(settings.webHosts);
  const mayCall: Record<Route[2], RequestHandler[]> = {
    anyone: [anyOrigin],
    login: [webOnly, refuseBlocked(isBlocked)],
    wallet: [webOnly, bearer(auth)],
  };
  for (const route of ROUTES) {
    const [method, path, caller, endpoint] = route;
    const call = (request: Request) => callOf(request, services, isBlocked(request));
    const answer =
      route[2] === 'wallet'
        ? serve(route[3], (request, response) => ({ ...call(request), wallet: response.locals.wallet }))
        : serve(route[3], call);
    const body = endpoint.readsBody ? readBody : [];
    register(app, method, path, [named(path), ...mayCall[caller], ...body, answer]);
  }
  for (const [path, methods] of methodsByPath()) {
    const caller = ROUTES.find((route) => route[1] === path)![2];
    app.options(path, named(path), mayCall[caller][0]!, preflight(methods));
  }
}

const named =
  (path: string): RequestHandler =>
  (_request, response, next) => {
    response.locals.route = path;
    next();
  };

const callOf = <Needed>(request: Request, services: Needed, restricted: boolean): Call<Needed> => ({
  services,
  params: request.params as Record<string, string>,
  query: request.query as Query,
  body: request.body,
  restricted,
});

/** Express passes what a handler throws on to the error handler. */
const serve =
  <Of extends Call<unknown>>(
    endpoint: Endpoint<Of>,
    toCall: (request: Request, response: Response) => Of,
  ): RequestHandler =>
  async (request, response) => {
    send(response, await endpoint.handle(toCall(request, response)));
  };

function register(app: Express, method: Method, path: string, handlers: RequestHandler[]): void {
  app[method.toLowerCase() as Lowercase<Method>](path, ...handlers);
}

function methodsByPath(): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const [method, path] of ROUTES) {
    const more = method === 'GET' ? ['GET', 'HEAD'] : [method];
    methods.set(path, [...(methods.get(path) ?? []), ...more]);
  }
  return methods;
}
