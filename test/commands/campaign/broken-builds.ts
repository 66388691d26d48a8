/**
 * Releases that are broken on purpose. A campaign that does not report each of them proves nothing about the one that
 * is not broken. A text that a build changes must be in the sources exactly once.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CampaignOptions, OF_CAMPAIGN, runCampaign } from './campaign.ts';
import { FAULTS } from './faults/index.ts';
import { applyChange, type Change, copyRelease } from './release.ts';

export interface BrokenBuild {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Names of the faults under which it shows, each for `rounds` rounds. */
  readonly faults: readonly string[];
  readonly rounds: number;
}

const build = (
  name: string,
  changes: readonly (readonly [file: string, from: string, to: string])[],
  faults: readonly string[] = ['kill settlement'],
  rounds = 1,
): BrokenBuild => ({
  name,
  changes: changes.map(([file, from, to]) => ({ file, from, to })),
  faults,
  rounds,
});

const TRIM = 'lua/trim_settled.lua';
const SETTLE = 'src/ledger/settlement.ts';
const CHALLENGES = 'src/auth/challenges.ts';
const LIMIT_KEYS = 'src/http/limits/keys.ts';
const DELETE_ORDER = 'src/http/endpoints/delete-order.ts';
const CANCELS = 'const closed = await services.engine.orders.cancel(wallet, params.orderId!);';

export const BROKEN_BUILDS: readonly BrokenBuild[] = [
  build('events are trimmed before they are settled', [
    [TRIM, 'if not mark[1] or age >= tonumber(ARGV.events_stay_ms) then', 'if true then'],
    [
      TRIM,
      "if mark[1] then gone = redis.call('XTRIM', KEYS.events, 'MINID', '=', mark[1]) end",
      "gone = redis.call('XTRIM', KEYS.events, 'MAXLEN', '=', '0')",
    ],
  ]),
  build('an event in forty is dropped', [
    [
      'lua/include/append_event.lua',
      "redis.call('XADD', events, string.format('%d-%d', state.epoch, sequence), 'e', bytes)",
      "if sequence % 40 ~= 0 then redis.call('XADD', events, string.format('%d-%d', state.epoch, sequence), 'e', bytes) end",
    ],
  ]),
  build('the first event of a batch is settled twice', [
    [
      SETTLE,
      'const fresh = events.filter((event) => event.sequence > cursor.sequence);\n  let previous: Cursor = cursor;',
      'const fresh = events.filter((event) => event.sequence >= cursor.sequence);\n  let previous: Cursor = { ...cursor, sequence: (fresh[0]?.sequence ?? 1) - 1 };',
    ],
  ]),
  build(
    'the cursor moves outside the transaction',
    [
      [
        SETTLE,
        'await roundTrip(client, [...writing, ...(flush ? [COMMIT] : [UNFLUSHED, COMMIT])]);',
        `await roundTrip(client, [...writing.slice(0, -1), COMMIT]);
  await new Promise((resolve) => setTimeout(resolve, 40));
  await roundTrip(client, [BEGIN, LOCK, writing.at(-1)!, COMMIT]);`,
      ],
    ],
    ['kill settlement'],
    5,
  ),
  build('a nonce is read and then deleted', [
    [
      CHALLENGES,
      "consume: (flow, wallet, record) => judge(flow, wallet, record, '1'),",
      `consume: async (flow, wallet, record) => {
      const standing = await judge(flow, wallet, record, '0');
      await redis.del(challengeKey(flow, wallet));
      return standing;
    },`,
    ],
  ]),
  build('an id is claimed before the checks', [
    [
      'lua/include/plan_order.lua',
      '  if ended then return ended, value end\n',
      `  if ended then return ended, value end
  if order.claim then
    redis.call('SETRANGE', order.claim.filter, order.claim.first, order.claim.block)
    redis.call('HSET', KEYS[CLAIMS + state.claims], order.claim.field, string.rep('\\1', 17))
  end
`,
    ],
  ]),
  build(
    'an engine opens although Postgres knows more',
    [
      [
        'lua/open_epoch.lua',
        "if ARGV.sequence ~= '' and (state.sequence < tonumber(ARGV.sequence) or state.epoch < tonumber(ARGV.epoch)) then",
        'if false then',
      ],
    ],
    ['failover to a lagging replica'],
  ),
  build('a client order id may be used twice', [
    ['lua/include/claim.lua', '  if is_marked then\n', '  if false then\n'],
  ]),
  build('a cancel gives back one atom more than it released', [
    [
      'lua/cancel_orders.lua',
      'add_to(balances_of(side), wallet .. AVAILABLE, held)',
      'add_to(balances_of(side), wallet .. AVAILABLE, held + 1)',
    ],
  ]),
  build('fees go nowhere', [
    ['lua/include/write_fills.lua', 'add_to(amounts_of(KEYS.quote_balances), HOUSE, walk.fee_sum)', ''],
  ]),
  build('a cancel that failed is answered as one that worked', [
    [
      DELETE_ORDER,
      CANCELS,
      `if (Number.parseInt(params.orderId!.slice(-3), 16) % 4 === 0)
      return json({ id: params.orderId!, clientOrderId: null, market: 'ETH/USDC', status: 'cancelled' });
    ${CANCELS}`,
    ],
  ]),
  build('a cancel now and then finds no order', [
    [
      DELETE_ORDER,
      CANCELS,
      `const id = Number.parseInt(params.orderId!.slice(-3), 16) % 4 === 0 ? 'none' : params.orderId!;
    const closed = await services.engine.orders.cancel(wallet, id);`,
    ],
  ]),
  build('each replica counts requests for itself', [
    [
      LIMIT_KEYS,
      `\`\${TAG}:limit:\${bucket}:\${client}\``,
      `\`\${TAG}:limit:\${process.pid}:\${bucket}:\${client}\``,
    ],
    [
      LIMIT_KEYS,
      `\`\${TAG}:limit:\${bucket}:all:\${address}\``,
      `\`\${TAG}:limit:\${process.pid}:\${bucket}:all:\${address}\``,
    ],
  ]),
  build(
    'a dead-man switch that fired stays armed',
    [
      [
        'lua/lease_due_cancel.lua',
        "redis.call('ZREM', KEYS.leases, ARGV.wallet)\n  redis.call('HDEL', KEYS.cut_offs, ARGV.wallet)",
        "redis.call('ZADD', KEYS.leases, text(event_time(state) + 1000), ARGV.wallet)",
      ],
      [
        'lua/take_due_cancels.lua',
        'if cut_off then take(wallet, cut_off)',
        "if cut_off then cut_off = stamp_of(state.epoch, state.sequence) .. struct.pack('>I7', time) redis.call('HSET', cut_offs, wallet, cut_off) take(wallet, cut_off)",
      ],
    ],
    // The order that is placed after the switch has fired is looked at one rest later.
    ['NOSCRIPT: the scripts are flushed'],
    3,
  ),
  build(
    'streams show an older frame now and then',
    [
      [
        'src/feed/follower.ts',
        'let lastBeat = 0;',
        'let lastBeat = 0;\n      const older: (readonly Buffer[])[] = [];',
      ],
      [
        'src/feed/follower.ts',
        'receive(frames);',
        'older.unshift(frames);\n          receive((beat % 2 === 0 ? older[2] : undefined) ?? frames);',
      ],
    ],
    ['NOSCRIPT: the scripts are flushed'],
    3,
  ),
  build('lists leave out what is not settled', [
    [
      'src/history/unsettled.ts',
      'events = [...own, ...events];',
      'events = [...own.slice(own.length), ...events];',
    ],
  ]),
  build('candles count each execution twice', [
    [
      'src/ledger/candle-rows.ts',
      'numberArray(candles.map(({ volumeSteps }) => volumeSteps)),',
      'numberArray(candles.map(({ volumeSteps }) => volumeSteps + volumeSteps)),',
    ],
  ]),
];

export interface Proof {
  readonly build: string;
  /** The invariants that reported it. */
  readonly reportedBy: readonly string[];
}

type ProofOptions = Pick<
  CampaignOptions,
  'machine' | 'seed' | 'folder' | 'traders' | 'perSecond' | 'bulk' | 'say' | 'replicas'
>;

/** Runs a campaign against the build. */
export async function prove(
  { name, changes, faults, rounds }: BrokenBuild,
  options: ProofOptions,
): Promise<Proof> {
  const release = mkdtempSync(join(tmpdir(), 'redbook-broken-'));
  try {
    copyRelease(release);
    for (const change of changes) applyChange(release, change);
    const folder = join(options.folder, name.replaceAll(/\W+/g, '-'));
    const results = await runCampaign({
      ...options,
      folder,
      release,
      rounds,
      isHasty: true,
      faults: FAULTS.filter((fault) => faults.includes(fault.name)),
    });
    rmSync(folder, { recursive: true, force: true });
    const violations = results.flatMap((result) => result.violations.map(({ invariant }) => invariant));
    return { build: name, reportedBy: [...new Set(violations)].filter((one) => !OF_CAMPAIGN.has(one)) };
  } finally {
    rmSync(release, { recursive: true, force: true });
  }
}
