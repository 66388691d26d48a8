/** Builds the HTTP application: registers the route table with Express. */

import type { RequestListener } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { WAITS } from '../domain/bounds.ts';
import { Refusal } from '../domain/errors.ts';
import { cappedReads } from '../domain/shared-read.ts';
import { ANSWER_WITHIN_MS, withTimeLimit } from '../domain/time-limit.ts';
import { clientAddresses } from '../edge/client-address.ts';
import { tooSlow, WalletReads } from '../history/wallet-reads.ts';
import { LISTS_AT_ONCE, ORDERS_AT_ONCE } from '../ledger/index.ts';
import { limitRepeatedLines, type RepeatedLines } from '../process/repeated-lines.ts';
import { spansInUse } from '../process/spans.ts';
import { METRICS_PATH } from './endpoints/probes.ts';
import { outsideCeiling } from './limits/ceiling.ts';
import { requestLimits } from './limits/index.ts';
import { openOrderLimit } from './limits/order-limit.ts';
import { localCallers } from './local-caller.ts';
import { readBody } from './middleware/body.ts';
import { anyOrigin, type Cors, everyOrigin, preflight, webOrigins } from './middleware/cors.ts';
import { blockedCountry } from './middleware/country.ts';
import { deprecation } from './middleware/deprecation.ts';
import { errorReply, notStarted, unknownRoute } from './middleware/errors.ts';
import { observer } from './middleware/observe.ts';
import { refusedHead } from './middleware/request-head.ts';
import { allowViewer, documentation, VIEWER_PATH } from './openapi/index.ts';
import { pageRoutes } from './page/index.ts';
import { refusalReply } from './replies/error.ts';
import { type Reply, WRITERS } from './replies/reply.ts';
import {
  addHeader,
  type MessageClasses,
  type RequestClock,
  secondsOf,
  send,
  sendPublic,
  stateOf,
  unreadReplies,
  useMessageClasses,
} from './response/index.ts';
import type { Method, Reads, Route } from './route.ts';
import { LOCAL_ROUTES, legacyRoutes, PROBES, ROUTES } from './routes.ts';
import { ServedCall, type Serving } from './served-call.ts';
import type { ProbeServices, Readiness, Services } from './services.ts';
import { SignIns } from './sign-ins.ts';

/**
 * An event may wake thousands of waits. Fewer read at once than lists have connections, and a wait keeps its turn for as
 * long as it lasts.
 */
const CHANGES = { atOnce: LISTS_AT_ONCE - 1, patienceMs: 25_000, answerMs: 27_000 };

/** Number of probes that each get their own read. Further probes share one read per 100 ms. */
const PROBE_BURST = 10;

/**
 * Builds the application with the whole API and the probes.
 * @param classes message classes of the server; without them each request costs more
 */
export function createApp(services: Services, classes?: MessageClasses): RequestListener {
  const app = newApp();
  if (classes !== undefined) useMessageClasses(app, classes);
  const admit = (wallet: string): void => unreadReplies.check(wallet);
  const reads = {
    lists: new WalletReads({ atOnce: LISTS_AT_ONCE, admit }),
    orders: new WalletReads({ atOnce: ORDERS_AT_ONCE, admit }),
    changes: new WalletReads({ ...CHANGES, rule: WAITS, admit }),
  };
  const repeated = limitRepeatedLines(services.logger);
  const signIns = new SignIns();
  const serving = { services, reads, signIns, repeated, countOrders: openOrderLimit(services) };
  const direct: DirectRoutes = new Map();
  addRoutes(app, serving, classes === undefined ? undefined : direct);
  const ceiling = outsideCeiling(services);
  addDocumentation(app, serving, ceiling);
  addPage(app, services, ceiling);
  return closeApp(app, services, [ceiling, unknownRoute], undefined, direct);
}

/** Builds an application with only the probes, for processes that serve no API. */
export const createProbeApp = (services: ProbeServices): RequestListener => closeApp(newApp(), services);

/** Builds the application of a process that cannot serve its routes yet. Every request except a probe gets a 503. */
export const createStartingApp = (services: ProbeServices): RequestListener =>
  closeApp(newApp(), services, [notStarted]);

/** Builds an application with only `/metrics`, for a separate port. */
export const createMetricsApp = (services: Pick<ProbeServices, 'logger' | 'metrics'>): RequestListener =>
  closeApp(
    newApp(),
    { ...services, ready: async () => ({ ready: true, checks: {} }) },
    [unknownRoute],
    PROBES.filter(({ path }) => path === METRICS_PATH),
  );

/** Makes an Express application without its extras. */
export function newApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Strict: `DELETE /v1/orders/` comes from a client that lost an order id, not one that wants to cancel everything.
  app.enable('strict routing');
  app.enable('case sensitive routing');
  return app;
}

/**
 * Handlers by path and method of the routes of wallets without a parameter. Express tries one route after the other, which
 * costs an order 5 %.
 */
type DirectRoutes = Map<string, Partial<Record<string, RequestHandler>>>;

function addRoutes(app: Express, serving: Serving, direct?: DirectRoutes): void {
  const { services } = serving;
  const { webHosts, legacyPrefix, demoFaucet } = services.settings;
  const webOnly = webOrigins(webHosts);
  const corsOf = { anyone: anyOrigin, public: everyOrigin, login: webOnly, wallet: webOnly };
  const localOnly = callersOf(localCallers(webHosts));
  const isBlocked = blockedCountry(services.settings);
  const methods = new Map<string, string[]>();
  const limit = requestLimits(services);
  const routes = [
    ...ROUTES.map((route) => ({ route, guards: [], setHeaders: [corsOf[route.caller]], announced: true })),
    ...(demoFaucet ? LOCAL_ROUTES : []).map((route) => ({
      route,
      guards: [localOnly],
      setHeaders: [corsOf[route.caller]],
      announced: true,
    })),
    ...legacyRoutes(legacyPrefix).map((route) => ({
      route,
      guards: [],
      setHeaders: [corsOf[route.caller], deprecation(route.path, route.successor)],
      announced: false,
    })),
  ];
  for (const { route, guards, setHeaders, announced } of routes) {
    const { method, path, bucket } = route;
    const entered = enter(path, ...setHeaders);
    const serveIt = serve(route, serving, isBlocked);
    const handlers =
      bucket === undefined ? [atOnce(entered, serveIt)] : [entered, limit(bucket, announced), serveIt];
    register(app, method, path, ...guards, ...handlers);
    const all = [...guards, ...handlers];
    if (all.length === 1 && !path.includes(':')) direct?.set(path, { ...direct.get(path), [method]: all[0] });
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  for (const { route, guards, setHeaders } of routes) {
    const { path } = route;
    app.options(path, ...guards, enter(path, ...setHeaders), preflight(methods.get(path)!));
  }
}

function addDocumentation(app: Express, serving: Serving, ceiling: RequestHandler): void {
  for (const [path, handle] of documentation(serving.services.settings)) {
    const setHeaders = path === VIEWER_PATH ? [everyOrigin, allowViewer] : [everyOrigin];
    const serveIt = serve({ caller: 'public', handle }, serving, () => false);
    register(app, 'GET', path, enter(path, ...setHeaders), ceiling, serveIt);
  }
}

function addPage(app: Express, services: Services, ceiling: RequestHandler): void {
  for (const { path, setHeaders, handle } of pageRoutes(services))
    register(app, 'GET', path, enter(path, setHeaders), ceiling, handle);
}

/**
 * Adds the probes, the handlers of all other requests, and what comes before each request.
 * @param direct routes that Express has too
 */
export function closeApp(
  app: Express,
  services: ProbeServices,
  otherwise: readonly RequestHandler[] = [unknownRoute],
  probes = services.hasMetricsPort ? PROBES.filter(({ path }) => path !== METRICS_PATH) : PROBES,
  direct: DirectRoutes = new Map(),
): RequestListener {
  // Probes have no request limit and each one queries the servers, so a burst of probes shares one reply.
  const [plain, deep] = [false, true].map((isDeep) =>
    cappedReads(PROBE_BURST, () => services.ready(isDeep)),
  ) as [() => Promise<Readiness>, () => Promise<Readiness>];
  const shared = { ...services, ready: (isDeep: boolean) => (isDeep ? deep() : plain()) };
  for (const probe of probes) {
    const { method, path } = probe;
    register(app, method, path, enter(path), async (request, response) => {
      const state = stateOf(response);
      state.isProbe = true;
      const call = { requestId: state.requestId, isDeep: 'deep' in request.query };
      send(response, await probe.handle(shared, call, WRITERS));
    });
  }
  app.use(...otherwise);
  const repeated = limitRepeatedLines(services.logger);
  const failed = errorReply(services, repeated);
  app.use(failed);
  const route = (request: Request, response: Response): void => {
    const handle = direct.get(pathOf(request.url))?.[request.method];
    if (handle === undefined) app(request, response);
    else handleDirectly(handle, failed, request, response);
  };
  return arrival(route, services, repeated);
}

/** Calls the handler of a route with what Express would have set, and answers its error as Express would. */
function handleDirectly(
  handle: RequestHandler,
  failed: ErrorRequestHandler,
  request: Request,
  response: Response,
): void {
  request.res = response;
  request.params = NO_PARAMS;
  const next = (error: unknown): void => void failed(error, request, response, noop);
  try {
    void handle(request, response, next);
  } catch (error) {
    next(error);
  }
}

const NO_PARAMS = Object.freeze({});

/** Returns a URL without its query. */
function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Handles every request before Express looks up its route. A middleware would cost one more dispatch. */
function arrival(
  route: (request: Request, response: Response) => void,
  services: ProbeServices,
  repeated: RepeatedLines,
): RequestListener {
  const addressOf = clientAddresses(services.settings?.trustProxyHops ?? 0);
  const observe = observer(services, repeated, addressOf);
  const spans = spansInUse();
  const answer = (request: Request, response: Response): void => {
    const refusal = refusedHead(request);
    if (refusal === undefined) {
      route(request, response);
      return;
    }
    // A proxy that forwarded two Host headers, or none, may disagree with this server on where the next request begins.
    if (refusal.code === 'BAD_REQUEST') addHeader(response, 'Connection', 'close');
    send(response, refusalReply(refusal));
  };
  return (incoming, outgoing) => {
    const request = incoming as Request;
    const response = outgoing as Response;
    observe(request, response);
    if (spans === undefined || PROBES.some(({ path }) => path === request.url))
      return answer(request, response);
    const end = spans.request(request.headers, () => answer(request, response));
    response.on('close', () => {
      const { route, requestId } = stateOf(response);
      end({ method: request.method, route, status: response.statusCode, requestId });
    });
  };
}

/** Records the route and sets its CORS headers. Both apply to every later reply, errors included. */
export const enter =
  (path: string, ...setHeaders: readonly Cors[]): RequestHandler =>
  (request, response, next) => {
    stateOf(response).route = path;
    for (const set of setHeaders) set(request, response);
    next();
  };

/** Hides a route from all other callers: they get the status and headers of an unknown route. */
const callersOf =
  (isOne: (request: Request) => boolean): RequestHandler =>
  (request, _response, next) => {
    if (isOne(request)) next();
    else next('route');
  };

const noop = (): void => undefined;

/**
 * Joins two handlers when the first calls `next` synchronously. Express' dispatch between them costs as much as they
 * do.
 */
const atOnce =
  (first: RequestHandler, second: RequestHandler): RequestHandler =>
  (request, response, next) => {
    first(request, response, noop);
    return second(request, response, next);
  };

/** A route as far as a request needs it. */
type Served = Pick<Route, 'caller' | 'handle' | 'bucket'> & Pick<Reads, 'readsBody' | 'bodyLimits' | 'admit'>;

/** Checks and answers a request in the documented order of precedence. */
function serve(route: Served, serving: Serving, isBlocked: (request: Request) => boolean): RequestHandler {
  const { services, signIns } = serving;
  const { caller, readsBody, bodyLimits, bucket, admit } = route;
  const addressOf = clientAddresses(services.settings.trustProxyHops);
  const limited = (request: Request, call: ServedCall): Promise<Reply> => {
    const answer = (): Promise<Reply> => inTime(call.clock, route.handle(call, WRITERS));
    return caller === 'login' ? signIns.admit(addressOf(request), answer) : answer();
  };
  const answer = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      const restricted = isBlocked(request);
      if (caller === 'login' && restricted) throw new Refusal('RESTRICTED_JURISDICTION');
      const wallet = caller === 'wallet' ? services.auth.session(request.headers.authorization).wallet : '';
      if (wallet !== '') stateOf(response).holder = wallet;
      admit?.(services, wallet);
      const body = readsBody ? await readBody(request, bodyLimits) : undefined;
      const call = new ServedCall(serving, request, response, { wallet, restricted, body });
      const reply = await (bucket === undefined ? route.handle(call, WRITERS) : limited(request, call));
      if (reply.isPublic) await sendPublic(request, response, reply);
      else send(response, reply);
    } catch (error) {
      next(error);
    }
  };
  // Express listens to a promise that it gets, which costs an order 1 %.
  return (request, response, next) => void answer(request, response, next);
}

/** Limits the time of a request that was counted at one server and is answered by others. */
const inTime = (clock: RequestClock, answer: Promise<Reply>): Promise<Reply> =>
  withTimeLimit(ANSWER_WITHIN_MS - 1_000 * secondsOf(clock), answer, () => {
    throw tooSlow();
  });

export function register(app: Express, method: Method, path: string, ...handlers: RequestHandler[]): void {
  app[method.toLowerCase() as Lowercase<Method>](path, ...handlers);
}
