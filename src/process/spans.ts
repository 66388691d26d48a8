/**
 * Sends spans of requests, scripts and settlements to an OpenTelemetry collector. Without an endpoint, none of its
 * packages is loaded, and `spansInUse` returns undefined.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Attributes } from '@opentelemetry/api';

/** A place in a trace, as a job carries it from one process to another. */
export type TracePlace = Readonly<Record<string, string>>;

/** Runs work as part of the trace in which it was made. */
export type Resume = <Result>(work: () => Result) => Result;

type EndRequest = (request: { method: string; route: string; status: number; requestId: string }) => void;

export interface SpanExport {
  /** Serves a request in its span, which continues a trace that the headers name. @returns what ends the span */
  request(headers: IncomingHttpHeaders, serve: () => void): EndRequest;
  /** Adds the span of a script that ends now, if it is part of a trace. */
  script(name: string, seconds: number): void;
  run<Result>(name: string, attributes: Attributes, work: () => Promise<Result>): Promise<Result>;
  here(): Resume;
  placeHere(): TracePlace;
  resume<Result>(place: TracePlace, work: () => Result): Result;
  /** Sends what is left, as far as the collector takes it in time. */
  close(): Promise<void>;
}

/** Installation and role of the process, which every span carries. */
export interface TracedService {
  readonly name: string;
  readonly installation: string;
}

let inUse: SpanExport | undefined;

export const spansInUse = (): SpanExport | undefined => inUse;

/**
 * Loads the packages and begins. A collector that is away costs the spans, and nothing else.
 * @param endpoint base URL of a collector that takes OTLP over HTTP
 */
export async function exportSpans(endpoint: string, service: TracedService): Promise<SpanExport> {
  const { openSpanExport } = await import('./otlp.ts');
  inUse = openSpanExport(endpoint, service);
  return inUse;
}
