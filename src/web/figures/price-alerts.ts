/** Price alerts as the browser keeps them, and the marks that reach them. */

import { compare } from '../../client/index.ts';

export interface PriceAlert {
  readonly id: string;
  /** `BASE/QUOTE`. */
  readonly market: string;
  /** Plain decimal. */
  readonly price: string;
  /** True when the mark price was below: it has to rise to the price. */
  readonly isRise: boolean;
  /** Unix milliseconds at which the mark price got there; null until then. */
  readonly reachedAt: number | null;
}

/** Maximum alerts of a browser. */
export const MAX_ALERTS = 50;

const PRICE = /^\d+(\.\d+)?$/;

function isAlert(one: unknown): one is PriceAlert {
  const { id, market, price, isRise, reachedAt } = (one ?? {}) as Partial<PriceAlert>;
  const areTexts = typeof id === 'string' && typeof market === 'string' && typeof price === 'string';
  return (
    areTexts &&
    PRICE.test(price) &&
    typeof isRise === 'boolean' &&
    (reachedAt === null || typeof reachedAt === 'number')
  );
}

/** Reads the kept text. Everything else that may stand there counts as no alerts. */
export function readAlerts(text: string | null): readonly PriceAlert[] {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(kept) ? kept.filter(isAlert).slice(0, MAX_ALERTS) : [];
  } catch {
    return [];
  }
}

/** Returns the alerts with those marked that the mark prices reach now; the same array when there are none. */
export function reachedBy(
  alerts: readonly PriceAlert[],
  markOf: (market: string) => string | null | undefined,
  nowMs: number,
): readonly PriceAlert[] {
  const isReached = ({ market, price, isRise, reachedAt }: PriceAlert): boolean => {
    const mark = reachedAt === null ? markOf(market) : null;
    if (mark == null) return false;
    const order = compare(mark, price);
    return isRise ? order >= 0 : order <= 0;
  };
  const reached = new Set(alerts.filter(isReached));
  return reached.size === 0
    ? alerts
    : alerts.map((alert) => (reached.has(alert) ? { ...alert, reachedAt: nowMs } : alert));
}
