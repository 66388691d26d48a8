/** Histograms with a cheap `observe`. */

import type { Histogram, MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client';

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly registers: readonly Registry[];
}

/** Observations for one combination of label values. */
class Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  /** Number of values in each bucket, not cumulative. The last bucket counts values above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sum += value;
  }
}

/**
 * A histogram that a prom-client registry accepts. Its `observe` costs a tenth of prom-client's, which validates and
 * hashes the labels on each call.
 */
export class LatencyHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #labelNames: readonly string[];
  readonly #bounds: readonly number[];
  readonly #series: Series[] = [];

  constructor({ name, help, labelNames, buckets, registers }: HistogramOptions) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    this.#bounds = buckets;
    for (const registry of registers) registry.registerMetric(this as unknown as Histogram);
  }

  /** Returns the series for a combination of values, in the order of the label names. Call it once per combination. */
  series(...values: readonly string[]): Pick<Series, 'observe'> {
    const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at]!]));
    const series = new Series(labels, this.#bounds);
    this.#series.push(series);
    return series;
  }

  /** Returns the values of the metric. The registry calls this method. */
  async get(): Promise<Omit<MetricObjectWithValues<MetricValueWithName<string>>, 'collect'>> {
    const { name, help, type, aggregator } = this;
    const values = this.#series.flatMap((series) => this.#valuesOf(series));
    return { name, help, type: type as never, aggregator, values };
  }

  #valuesOf({ labels, counts, sum }: Series): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = Array.from(counts, (ofBucket, at) => {
      count += ofBucket;
      const le = this.#bounds[at] ?? '+Inf';
      return { labels: { le, ...labels }, value: count, metricName: `${this.name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: sum, metricName: `${this.name}_sum` },
      { labels, value: count, metricName: `${this.name}_count` },
    ];
  }
}
