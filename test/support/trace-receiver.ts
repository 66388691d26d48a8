/** Receives spans as an OpenTelemetry collector does, by OTLP over HTTP. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** Role of the process that sent it, like `redbook-api`. */
  readonly service: string;
}

interface Exported {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] };
    scopeSpans: { spans: ReceivedSpan[] }[];
  }[];
}

/** @returns the spans that came so far, and what else a test needs */
export async function receiveSpans(): Promise<{
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  close(): void;
}> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as Exported;
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')!.value.stringValue;
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
    }
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
