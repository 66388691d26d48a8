/** The AsyncAPI 3 document: the two public streams. */

import { marketSymbol } from '../replies/amounts-schema.ts';
import { marketSchema } from '../replies/market-schema.ts';
import type { HttpSettings } from '../services.ts';
import {
  candleSchema,
  errorFrameSchema,
  marketFrameSchema,
  snapshotFrameSchema,
  tickerFrameSchema,
  timeframe,
} from './frames.ts';
import { type JsonSchema, nameSchemas, type Part, requestJsonSchema } from './json-schema.ts';

const { schemas } = nameSchemas({
  Market: marketSchema,
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

const messageRef = (channel: string, message: string) => ({
  $ref: `#/channels/${channel}/messages/${message}`,
});
const componentMessage = (name: string) => ({ $ref: `#/components/messages/${name}` });

const message = (name: string, { description, examples }: JsonSchema): Part => ({
  name,
  contentType: 'application/json',
  summary: description,
  payload: { $ref: `#/components/schemas/${name}` },
  ...(examples !== undefined && { examples: examples.map((payload) => ({ payload })) }),
});

export function asyncApiDocument({ serviceName }: Pick<HttpSettings, 'serviceName'>): Part {
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
        host: '{host}',
        protocol: 'wss',
        description:
          'The host and port of this service, or those of its stream replicas; ws on a private network.',
        variables: { host: { default: 'localhost:3000', description: 'host[:port]' } },
      },
    },
    channels: { general: general(), market: market() },
    operations: {
      sendGeneral: {
        action: 'send',
        summary: 'One snapshot, then a ticker of every market every two seconds.',
        channel: { $ref: '#/channels/general' },
        messages: [messageRef('general', 'snapshot'), messageRef('general', 'ticker')],
      },
      sendMarket: {
        action: 'send',
        summary: 'All of one market, at once and then every two seconds.',
        channel: { $ref: '#/channels/market' },
        messages: [messageRef('market', 'market'), messageRef('market', 'error')],
      },
    },
    components: {
      schemas,
      messages: Object.fromEntries(frames.map((name) => [name, message(name, schemas[name]!)])),
    },
  };
}

const general = (): Part => ({
  address: '/ws',
  title: 'All markets',
  messages: { snapshot: componentMessage('SnapshotFrame'), ticker: componentMessage('TickerFrame') },
  bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
});

function market(): Part {
  const query = {
    type: 'object',
    required: ['symbol'],
    properties: {
      symbol: requestJsonSchema(marketSymbol),
      tf: { ...requestJsonSchema(timeframe), default: '1m', description: 'of the candle' },
    },
  };
  return {
    address: '/ws/market',
    title: 'One market',
    description:
      'A market that is not known gets an error frame, and the connection closes with 4404; a missing symbol or an ' +
      'unknown timeframe the same with 4400.',
    messages: { market: componentMessage('MarketFrame'), error: componentMessage('ErrorFrame') },
    bindings: { ws: { method: 'GET', query, bindingVersion: '0.1.0' } },
  };
}
