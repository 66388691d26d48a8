/** Rows of operators' acts, from the events that carry them. */

import type { RecordedAct } from '../domain/act.ts';
import type { EngineEvent } from '../domain/event.ts';
import { writeMarketRecord } from '../domain/market-record.ts';
import { writeTake } from '../domain/withdrawal-states.ts';
import { nullableField } from './copy.ts';
import { storable } from './text.ts';

/** Columns of an act that follow from its event. Members that are left out are null. */
interface Described {
  readonly name: string;
  readonly wallet?: string | undefined;
  readonly market?: string | undefined;
  readonly asset?: string | undefined;
  readonly subject?: string | undefined;
  readonly before?: string | null | undefined;
  readonly after?: string | null | undefined;
}

const ON = 'on';

/** Movements that change the available balance of a wallet: the command, and the sign of the change. */
const CHANGES_OF_AVAILABLE = {
  credited: { name: 'account credit', sign: 1n },
  debited: { name: 'account debit', sign: -1n },
  requested: { name: 'withdrawal request', sign: -1n },
  returned: { name: 'withdrawal return', sign: 1n },
} as const;

/** The kinds of acts: the command that makes each event, and what the event changes. */
function describe(event: EngineEvent, before: string | null): Described | undefined {
  switch (event.kind) {
    case 'credited':
    case 'debited':
    case 'requested':
    case 'returned': {
      const { kind, wallet, asset, reference, amountAtoms, owedAtoms = 0n } = event;
      const { name, sign } = CHANGES_OF_AVAILABLE[kind];
      const available = BigInt(before ?? 0);
      const after = available + sign * (amountAtoms - owedAtoms);
      return { name, wallet, asset, subject: reference, before: `${available}`, after: `${after}` };
    }
    case 'announced':
    case 'dropped': {
      const { kind, wallet, asset, reference, amountAtoms } = event;
      const name = kind === 'announced' ? 'deposit announce' : 'deposit drop';
      return { name, wallet, asset, subject: reference, after: `${amountAtoms}` };
    }
    case 'confirmed': {
      const { wallet, asset, reference, txid } = event;
      return { name: 'withdrawal confirm', wallet, asset, subject: reference, after: txid };
    }
    case 'withdrawal_taken':
    case 'withdrawal_released': {
      const { kind, wallet, asset, reference } = event;
      const [name, after] =
        kind === 'withdrawal_taken'
          ? ['withdrawal take', writeTake(event.take)]
          : ['withdrawal release', null];
      return { name, wallet, asset, subject: reference, before, after };
    }
    case 'account_held':
      return { name: 'account hold', wallet: event.wallet, after: ON };
    case 'account_released':
      return { name: 'account release', wallet: event.wallet, before: ON };
    case 'trading_paused':
      return { name: 'trading pause', after: ON };
    case 'trading_resumed':
      return { name: 'trading resume', before: ON };
    case 'terms_required':
      return {
        name: event.version === null ? 'terms off' : 'terms require',
        before,
        after: event.version,
      };
    case 'asset_changed':
      return { name: 'asset set', asset: event.asset.symbol, before, after: `${event.asset.scale}` };
    case 'market_changed':
      return {
        name: before === null ? 'market create' : 'market set',
        market: event.market.symbol,
        before,
        after: writeMarketRecord(event.market),
      };
    case 'operator_acted':
      return event;
    default:
      return undefined;
  }
}

const WRITTEN_AS_JSON: ReadonlySet<string> = new Set([
  'market_changed',
  'withdrawal_taken',
  'withdrawal_released',
]);

/** Returns the fields of an act's row after its sequence; null for an event that no operator made. */
export function fieldsOfAct(event: EngineEvent & { readonly act: RecordedAct }): (string | null)[] | null {
  const { by, reason, before: found } = event.act;
  const described = describe(event, found);
  if (described === undefined) return null;
  const { name, wallet, market, asset, subject, before, after } = described;
  // Records of markets and takes are longer than other texts, and JSON escapes what Postgres cannot store.
  const changes = [before ?? null, after ?? null];
  const texts = [name, by, reason, wallet, market, asset, subject].map(stored);
  return [...texts, ...(WRITTEN_AS_JSON.has(event.kind) ? changes : changes.map(stored))];
}

const stored = (text: string | null | undefined): string | null => (text == null ? null : storable(text));

export const actRow = (sequence: number, fields: readonly (string | null)[], timeMs: number): string =>
  [sequence, ...fields.map(nullableField), timeMs].join('\t');
