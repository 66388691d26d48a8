/** Prometheus metrics of one process; roles feed it, `/metrics` shows it. The home of prom-client. */

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { sharedForASecond } from '../market-data/shared-read.ts';
import { LatencyHistogram } from './latency-histogram.ts';

/** What a gauge reads at each scrape: one number, or one a label value. */
export type Reading = number | Readonly<Record<string, number>>;

export interface Metrics {
  beginRequest(): void;
  /** To be called once for each request that was begun. */
  endRequest(method: string, route: string, status: number, seconds: number): void;
  /** What became of a request to place an order, and the code of a refusal. */
  countOrder(outcome: string, code?: string): void;
  /** To be given to the engine as its `observe`. */
  observeScript(script: string, seconds: number): void;
  /** What became of a request to a limited route. */
  countLimited(bucket: string, decision: string): void;
  /**
   * A gauge that is read at each scrape; one that cannot be read is left out of that scrape.
   * @param label names what the keys of a record reading are
   */
  gauge(name: string, help: string, read: () => Promise<Reading>, label?: string): void;
  /** Counts that somebody else keeps, by the values of a label, read at each scrape. */
  counter(name: string, help: string, read: () => Readonly<Record<string, number>>, label: string): void;
  /** All metrics as Prometheus text. One read is shared by all who ask within a second. */
  text(): Promise<string>;
  readonly contentType: string;
}

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Gauges of prom-client's own with the ending of counters; what they say is in their namesakes without it. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];
const SCRIPT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

export function openMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return {
    ...requestMetrics(registers),
    ...orderMetrics(registers),
    ...scriptMetrics(registers),
    ...limitMetrics(registers),
    gauge(name, help, read, label) {
      new Gauge({
        name,
        help,
        labelNames: label === undefined ? [] : [label],
        registers,
        async collect() {
          const reading = await read().catch(() => undefined);
          this.reset();
          if (typeof reading === 'number') this.set(reading);
          else if (label === undefined)
            this.remove(); // a reset gauge without labels would claim to be 0
          else
            for (const [value, count] of Object.entries(reading ?? {})) this.set({ [label]: value }, count);
        },
      });
    },
    counter(name, help, read, label) {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
        },
      });
    },
    // Gauges ask Redis and Postgres, and anybody who reaches the port may scrape.
    text: sharedForASecond(() => registry.metrics()),
    contentType: registry.contentType,
  };
}

function requestMetrics(registers: Registry[]): Pick<Metrics, 'beginRequest' | 'endRequest'> {
  const requests = new LatencyHistogram({
    name: 'redbook_http_request_seconds',
    help: 'Time from the first byte of a request to the end of its reply, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  let inFlight = 0;
  new Gauge({
    name: 'redbook_http_requests_in_flight',
    help: 'Requests that are being answered, the scrape itself included.',
    registers,
    collect() {
      this.set(inFlight);
    },
  });
  const child = remembered((method: string, route: string, status: number) =>
    requests.series(method, route, String(status)),
  );
  return {
    beginRequest() {
      inFlight += 1;
    },
    endRequest(method, route, status, seconds) {
      inFlight -= 1;
      child(method, route, status).observe(seconds);
    },
  };
}

function orderMetrics(registers: Registry[]): Pick<Metrics, 'countOrder'> {
  const count = countByLabels(registers, {
    name: 'redbook_orders_total',
    help: 'Requests to place an order: status of the order, replayed, or refused; code: why it was refused.',
    labelNames: ['outcome', 'code'],
  });
  // An alert hangs on the first one; of a counter that begins at 1, Prometheus sees no increase.
  count('refused', 'SETTLEMENT_FAILED').count = 0;
  return {
    countOrder(outcome, code = '') {
      count(outcome, code).count += 1;
    },
  };
}

function scriptMetrics(registers: Registry[]): Pick<Metrics, 'observeScript'> {
  const scripts = new LatencyHistogram({
    name: 'redbook_engine_script_seconds',
    help: 'Time from sending an engine script to its reply, by script.',
    labelNames: ['script'],
    buckets: SCRIPT_BUCKETS,
    registers,
  });
  const child = remembered((script: string) => scripts.series(script));
  return { observeScript: (script, seconds) => child(script).observe(seconds) };
}

function limitMetrics(registers: Registry[]): Pick<Metrics, 'countLimited'> {
  const count = countByLabels(registers, {
    name: 'redbook_http_limit_decisions_total',
    help: 'Requests to limited routes, by bucket and decision: allowed, limited, or failed to be counted.',
    labelNames: ['bucket', 'decision'],
  });
  return {
    countLimited(bucket, decision) {
      count(bucket, decision).count += 1;
    },
  };
}

interface LabelledCount {
  readonly labels: readonly string[];
  count: number;
}

/** A counter whose counts are numbers of ours until it is read: prom-client looks each up by a hash of its labels. */
function countByLabels(
  registers: Registry[],
  config: { readonly name: string; readonly help: string; readonly labelNames: string[] },
): (...labels: string[]) => LabelledCount {
  const counts: LabelledCount[] = [];
  new Counter({
    ...config,
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of counts) this.labels(...labels).inc(count);
    },
  });
  return remembered((...labels: string[]) => {
    const made: LabelledCount = { labels, count: 0 };
    counts.push(made);
    return made;
  });
}

/** Remembers what `make` made for the same arguments, of which there are small sets of our own. */
function remembered<Arguments extends readonly (string | number)[], Made>(
  make: (...args: Arguments) => Made,
): (...args: Arguments) => Made {
  // Level by level: a key that is put together anew is hashed anew.
  const made = new Map<string | number, unknown>();
  return (...args) => {
    const last = args.length - 1;
    let level = made;
    for (let at = 0; at < last; at += 1) {
      let next = level.get(args[at]!);
      if (next === undefined) {
        next = new Map();
        level.set(args[at]!, next);
      }
      level = next as Map<string | number, unknown>;
    }
    let found = level.get(args[last]!) as Made | undefined;
    if (found === undefined) {
      found = make(...args);
      level.set(args[last]!, found);
    }
    return found;
  };
}
