/** The rules of every market of the bench. */

import type { MarketSpec } from '../../../src/domain/market-rules.ts';
import { marketSpec as plainSpec } from '../../support/market-spec.ts';

export const marketSpec = (symbol: string): MarketSpec => plainSpec(symbol, { sizeStep: '0.0001' });
