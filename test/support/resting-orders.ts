/**
 * Creates an exchange with many resting orders: writes them into Postgres with one statement and rebuilds Redis from
 * there.
 */

import type { Redis } from 'ioredis';
import { rebuildEngine } from '../../src/books/rebuild.ts';
import type { Engine } from '../../src/engine/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { query } from '../ledger/tables.ts';
import { marketSpec } from './market-spec.ts';
import { settleAll } from './settle-all.ts';

export interface Exchange {
  readonly redis: Redis;
  readonly ledger: Ledger;
  readonly databaseUrl: string;
  readonly engine: Engine;
  /** Another engine on the same server, from which the exchange is rebuilt. */
  readonly services: { readonly engine: Engine; readonly ledger: Ledger };
}

const MARKET = marketSpec('ETH/USDC', { sizeStep: '0.0001' });
const ATOMS_EACH = 10n ** 15n;

/** Half of the orders are bids, half asks, spread over 5,000 prices a side, each with a client order id. */
export async function seedRestingOrders(
  { redis, ledger, databaseUrl, engine, services }: Exchange,
  { orders, wallets }: { orders: number; wallets: number },
): Promise<void> {
  await engine.assets.set({ symbol: 'USDC', scale: 6 });
  const { number } = await engine.markets.create(MARKET);
  await settleAll({ engine, ledger }, { trims: false });
  await query(databaseUrl, seedSql({ number, orders, wallets }));
  await redis.flushall();
  await rebuildEngine(services);
  for (const one of [engine, services.engine]) await one.lifecycle.open(await ledger.settlement.cursor());
}

const seedSql = ({
  number,
  orders,
  wallets,
}: {
  number: number;
  orders: number;
  wallets: number;
}): string => `
  create temporary table seeded as
  select n, sequence + n as sequence, event_time_ms as time_ms, epoch from engine_cursor,
    generate_series(1, ${orders + wallets * 2}) as n;

  insert into movements (sequence, kind, wallet, asset, amount_atoms, reference, time_ms)
  select sequence, 'credited', '0x' || lpad(to_hex((n - 1) / 2), 40, 'a'),
    case n % 2 when 0 then 'ETH' else 'USDC' end, ${ATOMS_EACH}, 'seed ' || n, time_ms
  from seeded where n <= ${wallets * 2};

  insert into live_orders (id, wallet, market, side, type, time_in_force, post_only, leverage, price_ticks, size_steps,
    filled_steps, status, client_order_id, created_at_ms, updated_at_ms, sequence, updated_sequence, base, quote,
    base_atoms_per_step, quote_atoms_per_lot)
  select concat(lpad(to_hex(${number} * 2 + case side when 'sell' then 1 else 0 end), 4, '0'),
      lpad(to_hex(case side when 'buy' then 9007199254740991 - price_ticks else price_ticks end), 14, '0'),
      lpad(to_hex(epoch), 4, '0'), lpad(to_hex(sequence), 12, '0')),
    '0x' || lpad(to_hex(n % ${wallets}), 40, 'a'), '${MARKET.symbol}', side, 'limit', 'GTC', false, null, price_ticks,
    1 + n % 50, 0, 'resting', 'seed ' || n, time_ms, time_ms, sequence, sequence, 'ETH', 'USDC',
    (record ->> 'baseAtomsPerStep')::bigint, (record ->> 'quoteAtomsPerLot')::bigint
  from seeded
  cross join lateral (select case n % 2 when 0 then 'buy' else 'sell' end as side) as sided
  cross join lateral (select case side when 'buy' then 100000 - n / 2 % 5000 else 100001 + n / 2 % 5000 end as price_ticks)
    as priced
  join markets on symbol = '${MARKET.symbol}'
  where n > ${wallets * 2};

  set session_replication_role = replica;
  update engine_cursor set sequence = (select max(sequence) from seeded), orders = (select count(*) from orders),
    movements = (select count(*) from movements), head = '';
  truncate chain_heads, chain_links;
  insert into chain_heads (sequence, head) select sequence, head from engine_cursor;
  reset session_replication_role;
  analyze`;
