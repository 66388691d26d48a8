/**
 * Prometheus metrics of one process. Roles update them and `/metrics` serves them. Only this file sets up prom-client.
 */

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { sharedForASecond } from '../domain/shared-read.ts';
import { LatencyHistogram } from './latency-histogram.ts';

/** Value of a gauge at a scrape: one number, or one number per label value. */
export type Reading = number | Readonly<Record<string, number>>;

export interface Metrics {
  beginRequest(): void;
  /** Must be called once for each `beginRequest`. */
  endRequest(method: string, route: string, status: number, seconds: number): void;
  /** Counts a request to place an order by its outcome, and by its code if it was refused. */
  countOrder(outcome: string, code?: string): void;
  /** Records the time of a script. The engine calls it as its `observe`. */
  observeScript(script: string, seconds: number): void;
  /** Records a round of the engine's copies, and whether it was whole. */
  observeRound(seconds: number, isWhole: boolean): void;
  /** Counts a request to a limited route by its bucket and decision. */
  countLimited(bucket: string, decision: string): void;
  /**
   * Adds a gauge that is read at each scrape. A gauge whose read fails is left out of that scrape.
   * @param label name of the label whose values are the keys of a record reading
   */
  gauge(name: string, help: string, read: () => Promise<Reading>, label?: string): void;
  /** Adds a counter whose counts are kept elsewhere, by label value, and read at each scrape. */
  counter(name: string, help: string, read: () => Readonly<Record<string, number>>, label: string): void;
  /** Returns all metrics as Prometheus text. Callers within the same second share one read. */
  text(): Promise<string>;
  readonly contentType: string;
}

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** prom-client gauges that are named like counters. The gauges without that suffix have the same values. */
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
    ...roundMetrics(registers),
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
    // Gauges query Redis and Postgres, and anybody who reaches the port may scrape.
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
    help: 'Requests in progress, including the scrape itself.',
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
    help: 'Requests to place an order, by outcome (status of the order, replayed or refused) and code of the refusal.',
    labelNames: ['outcome', 'code'],
  });
  // An alert must fire on the first one. Prometheus sees no increase in a counter that first appears as 1.
  count('refused', 'SETTLEMENT_FAILED').count = 0;
  return {
    countOrder(outcome, code = '') {
      count(outcome, code).count += 1;
    },
  };
}

function scriptMetrics(registers: Registry[]): Pick<Metrics, 'observeScript'> {
  const observeScript = observedTimes(registers, {
    name: 'redbook_engine_script_seconds',
    help: 'Time from sending an engine script to its reply, by script.',
    label: 'script',
  });
  return { observeScript };
}

function roundMetrics(registers: Registry[]): Pick<Metrics, 'observeRound'> {
  const observe = observedTimes(registers, {
    name: 'redbook_engine_round_seconds',
    help: 'Time in which the copies of the engine confirmed what it answered, by outcome: whole or failed.',
    label: 'outcome',
  });
  return { observeRound: (seconds, isWhole) => observe(isWhole ? 'whole' : 'failed', seconds) };
}

/** Returns a function that records a time of the engine under a label. */
function observedTimes(
  registers: Registry[],
  { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
): (value: string, seconds: number) => void {
  const times = new LatencyHistogram({ name, help, labelNames: [label], buckets: SCRIPT_BUCKETS, registers });
  const child = remembered((value: string) => times.series(value));
  return (value, seconds) => child(value).observe(seconds);
}

function limitMetrics(registers: Registry[]): Pick<Metrics, 'countLimited'> {
  const count = countByLabels(registers, {
    name: 'redbook_http_limit_decisions_total',
    help: 'Requests to limited routes, by bucket and decision: allowed, limited or not counted.',
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

/** Makes a counter that keeps plain numbers until a scrape. prom-client hashes the labels on each increment. */
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

/** Memoizes `make`. The arguments come from small fixed sets, so the memo stays small. */
function remembered<Arguments extends readonly (string | number)[], Made>(
  make: (...args: Arguments) => Made,
): (...args: Arguments) => Made {
  // Nested maps, one per argument: a joined key would be built and hashed on each call.
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
