/** Parses which stream an upgrade request asks for. */

import type { z } from 'zod';
import type { errorFrameSchema } from '../contract/frames.ts';
import { TIMEFRAMES } from '../domain/candle.ts';
import type { MarketView } from '../feed/index.ts';

/** Custom close code: 4000 plus the corresponding HTTP status. */
const BAD_REQUEST = 4400;
const NOT_FOUND = 4404;

/** Refusal of a stream. The client gets a frame with the reason, then the close code. */
export interface StreamRefusal {
  readonly closeCode: number;
  readonly frame: z.infer<typeof errorFrameSchema>;
}

export type StreamRequest =
  | { readonly stream: 'general' }
  | { readonly stream: 'market'; readonly view: MarketView }
  | { readonly stream: 'market'; readonly refusal: StreamRefusal };

const badRequest = (error: string): StreamRequest => ({
  stream: 'market',
  refusal: { closeCode: BAD_REQUEST, frame: { type: 'error', error, code: 'VALIDATION_ERROR' } },
});

export const unknownMarket = (symbol: string): StreamRefusal => ({
  closeCode: NOT_FOUND,
  frame: {
    type: 'error',
    error: `no market has the symbol ${JSON.stringify(symbol.slice(0, 64))}`,
    code: 'MARKET_NOT_FOUND',
  },
});

/** Returns undefined if the path is not a stream. */
export function readRequest(url: string): StreamRequest | undefined {
  const [path, query = ''] = url.split(/\?(.*)/s, 2);
  if (path === '/ws') return { stream: 'general' };
  return path === '/ws/market' ? readView(new URLSearchParams(query)) : undefined;
}

function readView(query: URLSearchParams): StreamRequest {
  const symbols = query.getAll('symbol');
  const timeframes = query.getAll('tf');
  const [symbol = '', another] = symbols;
  if (symbol === '' || another !== undefined) return badRequest('symbol is required, once');
  const timeframe = TIMEFRAMES.find((one) => one === (timeframes[0] ?? '1m'));
  if (timeframe === undefined || timeframes.length > 1) {
    return badRequest(`tf must be one of ${TIMEFRAMES.join(', ')}`);
  }
  return { stream: 'market', view: { symbol, timeframe } };
}
