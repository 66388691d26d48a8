/** Makes spans and sends them by OTLP. Only `exportSpans` loads this file, and with it the packages of OpenTelemetry. */

import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { withTimeLimit } from '../domain/time-limit.ts';
import type { SpanExport, TracedService } from './spans.ts';

/** Longest wait of a process that ends for a collector that does not answer. */
const LAST_SPANS_MS = 2_000;
const FAILED_FROM = 500;

export function openSpanExport(endpoint: string, service: TracedService): SpanExport {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.name': service.name,
      'service.namespace': service.installation,
    }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }))],
  });
  provider.register();
  const tracer = trace.getTracer('redbook');
  return {
    request(headers, serve) {
      const span = tracer.startSpan(
        'request',
        { kind: SpanKind.SERVER },
        propagation.extract(ROOT_CONTEXT, headers),
      );
      context.with(trace.setSpan(ROOT_CONTEXT, span), serve);
      return ({ method, route, status, requestId }) => {
        span.updateName(`${method} ${route}`);
        span.setAttributes({
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          'redbook.request_id': requestId,
        });
        if (status >= FAILED_FROM) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      };
    },
    script(name, seconds) {
      if (trace.getActiveSpan() === undefined) return;
      const startTime = Date.now() - seconds * 1_000;
      tracer
        .startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes: { 'db.system': 'redis' } })
        .end();
    },
    run: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes }, async (span) => {
        try {
          return await work();
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).name });
          throw error;
        } finally {
          span.end();
        }
      }),
    here() {
      const now = context.active();
      return (work) => context.with(now, work);
    },
    placeHere() {
      const place: Record<string, string> = {};
      propagation.inject(context.active(), place);
      return place;
    },
    resume: (place, work) => context.with(propagation.extract(ROOT_CONTEXT, place), work),
    close: () => withTimeLimit(LAST_SPANS_MS, provider.shutdown(), () => undefined),
  };
}
