/** Builds the AsyncAPI 3 document of the two public streams. */

import {
  bookLevelSchema,
  bookSchema,
  candleSchema,
  errorFrameSchema,
  executionSchema,
  marketFrameSchema,
  snapshotFrameSchema,
  tickerFrameSchema,
  timeframe,
} from '../../contract/frames.ts';
import { marketSchema } from '../../contract/market.ts';
import { marketSymbol } from '../../contract/values.ts';
import type { HttpSettings } from '../services.ts';
import { streamServerOf } from '../stream-server.ts';
import { type JsonObject, type JsonSchema, nameReplies, requestJsonSchema } from './json-schema.ts';

/**
 * Names differ from each other and from those of channels even when case is ignored, because generators write one file
 * per name.
 */
const { schemas } = nameReplies({
  Market: marketSchema,
  Timeframe: timeframe,
  BookLevel: bookLevelSchema,
  Book: bookSchema,
  Execution: executionSchema,
  Candle: candleSchema,
  SnapshotFrame: snapshotFrameSchema,
  TickerFrame: tickerFrameSchema,
  MarketFrame: marketFrameSchema,
  ErrorFrame: errorFrameSchema,
});

const DESCRIPTION = `Two public WebSocket streams of complete snapshots, every two seconds. REST remains the reference; orders and fills are polled there.

- What a client sends is not looked at; a message over 1 KB closes the connection (1009).
- A client that does not read loses frames, and is dropped when it has lagged for too long.
- 1001: this replica is going away; the reason says in how many milliseconds to reconnect.
- Upgrades are refused with 429 \`RATE_LIMITED\` (too many connections from an address) or 503 \`SERVICE_UNAVAILABLE\`, and with \`Retry-After\`.`;

const messageRef = (channel: string, frame: string) => ({
  $ref: `#/channels/${channel}/messages/${messageOf(frame)}`,
});
/** Name of the message that carries a frame, in channels and components. */
const messageOf = (frame: string): string => frame.replace(/Frame$/, 'Message');
const messages = (...frames: string[]): JsonObject =>
  Object.fromEntries(
    frames.map((frame) => [messageOf(frame), { $ref: `#/components/messages/${messageOf(frame)}` }]),
  );

const message = (frame: string, { description, examples }: JsonSchema): JsonObject => ({
  name: messageOf(frame),
  contentType: 'application/json',
  summary: description,
  payload: { $ref: `#/components/schemas/${frame}` },
  ...(examples !== undefined && { examples: examples.map((payload) => ({ payload })) }),
});

export function asyncApiDocument({
  serviceName,
  webUrl,
}: Pick<HttpSettings, 'serviceName' | 'webUrl'>): JsonObject {
  const frames = ['SnapshotFrame', 'TickerFrame', 'MarketFrame', 'ErrorFrame'];
  return {
    asyncapi: '3.0.0',
    info: {
      title: `${serviceName} streams`,
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      service: {
        ...streamServerOf(webUrl),
        description:
          'The host of `WEB_URL`, over TLS if that URL is https. If `WEB_URL` is not set, this service on localhost.',
      },
    },
    channels: { allMarkets: allMarkets(), oneMarket: oneMarket() },
    operations: {
      sendAllMarkets: {
        action: 'send',
        summary: 'One snapshot, then a ticker of every market every two seconds.',
        channel: { $ref: '#/channels/allMarkets' },
        messages: [messageRef('allMarkets', 'SnapshotFrame'), messageRef('allMarkets', 'TickerFrame')],
      },
      sendOneMarket: {
        action: 'send',
        summary: 'The state of one market, at once and then every two seconds.',
        channel: { $ref: '#/channels/oneMarket' },
        messages: [messageRef('oneMarket', 'MarketFrame'), messageRef('oneMarket', 'ErrorFrame')],
      },
    },
    components: {
      schemas,
      messages: Object.fromEntries(
        frames.map((frame) => [messageOf(frame), message(frame, schemas[frame]!)]),
      ),
    },
  };
}

const allMarkets = (): JsonObject => ({
  address: '/ws',
  title: 'All markets',
  messages: messages('SnapshotFrame', 'TickerFrame'),
  bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
});

function oneMarket(): JsonObject {
  const query = {
    type: 'object',
    required: ['symbol'],
    properties: {
      symbol: requestJsonSchema(marketSymbol),
      tf: { ...requestJsonSchema(timeframe), default: '1m', description: 'length of a candle' },
    },
  };
  return {
    address: '/ws/market',
    title: 'One market',
    description:
      'An unknown market is answered with an error frame, and the connection closes with 4404. A missing symbol or ' +
      'an unknown timeframe is answered in the same way with 4400.',
    messages: messages('MarketFrame', 'ErrorFrame'),
    bindings: { ws: { method: 'GET', query, bindingVersion: '0.1.0' } },
  };
}
