/** Prometheus metrics of one process; roles feed it, `/metrics` shows it. The home of prom-client. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What a gauge reads at each scrape: one number, or one a label value. */
export type Reading = number | Readonly<Record<string, number>>;

export interface Metrics {
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  /** To be given to the engine as its `observe`. */
  observeScript(script: string, seconds: number): void;
  /** What became of a request to a limited route. */
  countLimited(bucket: string, decision: string): void;
  /**
   * A gauge that is read at each scrape; one that cannot be read is left out of that scrape.
   * @param label names what the keys of a record reading are
   */
  gauge(name: string, help: string, read: () => Promise<Reading>, label?: string): void;
  /** Everything as Prometheus text, and its content type. */
  text(): Promise<string>;
  readonly contentType: string;
}

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SCRIPT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

export function openMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'redbook_http_request_seconds',
    help: 'Time from the first byte of a request to the end of its reply, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const scripts = new Histogram({
    name: 'redbook_engine_script_seconds',
    help: 'Time from sending an engine script to its reply, by script.',
    labelNames: ['script'],
    buckets: SCRIPT_BUCKETS,
    registers,
  });
  const limited = new Counter({
    name: 'redbook_http_limit_decisions_total',
    help: 'Requests to limited routes, by bucket and decision: allowed, limited, or failed to be counted.',
    labelNames: ['bucket', 'decision'],
    registers,
  });
  // A labelled child is looked up by a hash of its labels each time: half the cost of an observation.
  const requestChild = remembered((method: string, route: string, status: number) =>
    requests.labels(method, route, String(status)),
  );
  const scriptChild = remembered((script: string) => scripts.labels(script));
  const limitedChild = remembered((bucket: string, decision: string) => limited.labels(bucket, decision));

  return {
    observeRequest: (method, route, status, seconds) => requestChild(method, route, status).observe(seconds),
    observeScript: (script, seconds) => scriptChild(script).observe(seconds),
    countLimited: (bucket, decision) => limitedChild(bucket, decision).inc(),
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
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Remembers what `make` made for the same arguments; they come from small sets of our own. */
function remembered<Arguments extends unknown[], Made>(
  make: (...args: Arguments) => Made,
): (...args: Arguments) => Made {
  const made = new Map<string, Made>();
  return (...args) => {
    const key = args.join(' ');
    let found = made.get(key);
    if (found === undefined) {
      found = make(...args);
      made.set(key, found);
    }
    return found;
  };
}
