/** Builds that are broken on purpose, in one place each. The simulation must find every one. */

import type { Script } from '../../../src/redis/lua.ts';
import { loadBroken, type Mutation } from '../../equivalence/mutations.ts';
import type { Sabotage } from './service.ts';
import type { RewriteSql } from './simulated-postgres.ts';
import { onSimulatedClock } from './simulated-redis.ts';

export interface BrokenBuild {
  /** Names the fault of the build. */
  readonly name: string;
  readonly load?: (name: string) => Script;
  readonly rewriteSql?: RewriteSql;
  readonly sabotage?: Sabotage;
}

const script = (mutation: Mutation): BrokenBuild => {
  const load = loadBroken(mutation);
  load(mutation.script); // fails where the script no longer holds what is to be broken
  return { name: mutation.name, load: (name) => onSimulatedClock(load(name)) };
};

/** @param from a text of one statement */
const sql = (name: string, from: string | RegExp, to: string): BrokenBuild => ({
  name,
  rewriteSql: (text) => text.replace(from, to),
});

/** Takes the values of the statement that moves the cursor. */
const MOVE_NOTHING = 'select $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text';
const MOVE = 'update engine_cursor set sequence = $1, epoch = $2, digest = $3, event_time_ms = $4';

function replace<Part extends object, Name extends keyof Part>(part: Part, name: Name, by: Part[Name]): void {
  part[name] = by;
}

const BEHIND_ADMISSION = 'if ended then return ended, value end\n  local pays, receives = quote, base';

export const BROKEN_BUILDS: readonly BrokenBuild[] = [
  script({
    name: 'trims events that are not settled',
    ...{ script: 'trim_settled', from: "'MINID', '=', mark[1])" },
    to: "'MINID', '=', state.epoch .. '-' .. text(state.sequence))",
  }),
  script({
    name: 'drops the list of unsettled events while some are not settled',
    ...{ script: 'trim_settled', from: 'if settled < turned_at then', to: 'if false then' },
  }),
  script({
    name: "forgets ids by the server's clock",
    ...{ script: 'trim_settled', from: 'event_time(state), state.time)', to: 'now, now)' },
  }),
  script({
    name: 'drops every eleventh event',
    script: 'place_orders',
    from: "redis.call('XADD', events,",
    to: "redis.call('XADD', sequence % 11 == 0 and events .. ':dropped' or events,",
  }),
  script({
    name: 'writes a claim before the checks',
    script: 'place_orders',
    from: BEHIND_ADMISSION,
    to: `if ended then return ended, value end
  if order.claim then
    redis.call('SETRANGE', order.claim.filter, order.claim.first, order.claim.block)
    redis.call('HSET', KEYS[8 + state.claims], order.claim.field, string.rep('\\0', 17))
  end
  local pays, receives = quote, base`,
  }),
  script({
    name: 'does not fence orders of an earlier epoch',
    ...{ script: 'place_orders', from: 'elseif not is_current then', to: 'elseif false then' },
  }),
  script({
    name: 'takes orders that were made for another claim filter',
    ...{
      script: 'place_orders',
      from: 'if layout ~= filter_in_force or claimed[digest]',
      to: 'if claimed[digest]',
    },
    also: { from: 'if layout ~= filter_in_force then', to: 'if false then' },
  }),
  script({
    name: 'does not remember the reference of a deposit',
    ...{
      script: 'move_funds',
      from: "redis.call('HSET', KEYS[5 + state.claims], ARGV[6], ARGV[11])",
      to: '',
    },
    also: { from: "redis.call('SETRANGE', KEYS[7], ARGV[7], block)", to: '' },
  }),
  script({
    name: 'cancels orders that were placed after a switch fired',
    ...{ script: 'take_due_cancels', from: 'if cut_off then take(wallet, cut_off)' },
    to: `if cut_off then
    cut_off = stamp_of(state.epoch, state.sequence) .. string.sub(cut_off, 9)
    redis.call('HSET', cut_offs, wallet, cut_off)
    take(wallet, cut_off)`,
  }),
  script({
    name: 'opens an engine that lost what Postgres has',
    script: 'open_epoch',
    from: "if ARGV[3] ~= '' and (",
    to: 'if false and (',
  }),
  script({
    name: 'begins an epoch again that Postgres has noted',
    ...{ script: 'open_epoch', from: 'local begun = tonumber(ARGV[7]) or 0', to: 'local begun = 0' },
    also: {
      from: `'noting ' .. ARGV[1])
  return { 'begun', text(state.epoch), lacks and '1' or '' }`,
      to: 'ARGV[1])',
    },
  }),
  sql(
    'forgets the earlier volume of a candle',
    'volume_steps = candles.volume_steps + excluded.volume_steps',
    'volume_steps = excluded.volume_steps',
  ),
  sql('settles in two processes at once', 'for update skip locked', ''),
  sql('lets go of the cursor before it writes', /^begin$/, 'select 1'),
  sql('rebuilds while settlement goes on', /from engine_cursor for update$/, 'from engine_cursor'),
  sql('does not fence events of a lost engine', 'update engine_cursor set epoch = $1', 'select $1::bigint'),
  {
    name: 'moves the cursor after the transaction',
    rewriteSql: (text) => (text.includes('set epoch = $1, sequence = $2') ? MOVE_NOTHING : text),
    sabotage({ ledger }, makePool) {
      const pool = makePool({ application_name: 'redbook cursor', max: 1 });
      const { settle } = ledger.settlement;
      replace(ledger.settlement, 'settle', async (events) => {
        const settled = await settle(events);
        const last = events.at(-1);
        if (last === undefined || settled.sequence !== last.sequence) return settled;
        await pool.query(MOVE, [last.sequence, last.epoch, last.digest, last.timeMs]);
        return settled;
      });
    },
  },
  {
    name: 'trusts the engine where only Postgres knows an id',
    sabotage: ({ ledger }) => replace(ledger.orders, 'placedId', async () => null),
  },
  {
    name: 'sends an order again after a lost answer',
    sabotage({ engine: { orders } }) {
      const place = orders.place.bind(orders);
      replace(orders, 'place', (command) => place(command).catch(() => place(command)));
    },
  },
  {
    name: 'trims events when they are read',
    sabotage({ engine: { outbox } }) {
      const readEvents = outbox.readEvents.bind(outbox);
      replace(outbox, 'readEvents', async (after, count, weight) => {
        const events = await readEvents(after, count, weight);
        const last = events.at(-1);
        if (last !== undefined) await outbox.trim(last);
        return events;
      });
    },
  },
];
