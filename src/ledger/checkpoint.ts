/** Reads the heads and digests of a checkpoint, which is kept where nobody who writes to the ledger can write. */

import { SUPPLY_CHANGE } from './entries.ts';
import type { Ask } from './queries.ts';
import { RECONCILIATION } from './reconciliations.ts';

/** Rows of a table that only grows, up to a moment. */
export interface RecordsDigest {
  readonly count: number;
  /** SHA-256 of the rows in hex. */
  readonly digest: string;
}

/** The ledger at one event. */
export interface LedgerCheckpoint {
  readonly sequence: number;
  readonly head: string;
  /** Event after which the chain begins. */
  readonly begins: number;
  /** ISO time of the event; null while there is none. */
  readonly time: string | null;
  /** Atoms of each asset that customers and the house own together. */
  readonly totals: Readonly<Record<string, string>>;
  readonly closings: RecordsDigest;
  readonly reconciliations: RecordsDigest;
  readonly epochs: RecordsDigest;
  readonly starts: RecordsDigest;
  /** Heads that were kept whole. */
  readonly heads: RecordsDigest;
  /** Keys of operators, other than when they were revoked. */
  readonly keys: RecordsDigest;
  /** Digests of seals, each of which has that of the one before. */
  readonly seals: RecordsDigest;
  readonly migrations: RecordsDigest;
}

/** Rows in their order. No function of the database is used, and no text that depends on a setting. */
const RECORDS = {
  closings: `select concat_ws('/', id, month, end_ms, sequence, encode(digest, 'hex')) from public.closings order by id`,
  reconciliations: `select ${RECONCILIATION} from public.reconciliations order by id`,
  epochs: `select concat_ws('/', epoch, server, extract(epoch from begun_at)) from public.engine_epochs order by epoch`,
  starts: `select concat_ws('/', epoch, sequence) from public.epoch_starts order by epoch`,
  heads: `select concat_ws('/', sequence, head) from public.chain_heads order by sequence`,
  keys: `select concat_ws('/', name, encode(digest, 'hex'), rights, caps::text, two_persons::text, extract(epoch from created_at))
    from public.operator_keys order by created_at, name`,
  seals: `select concat_ws('/', segment, encode(digest, 'hex')) from public.seals order by segment`,
  migrations: `select concat_ws('/', id, name, batch, extract(epoch from migration_time)) from public.knex_migrations order by id`,
} as const;

export const RECORD_NAMES = Object.keys(RECORDS) as readonly (keyof typeof RECORDS)[];

/** Returns the digest of the first `limit` rows, or of all of them. */
export async function digestOfRecords(
  ask: Ask,
  name: keyof typeof RECORDS,
  limit: number | null = null,
): Promise<RecordsDigest> {
  const [row] = await ask<{ count: bigint; digest: string }>(
    `select count(*) as count, encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' order by place), ''), 'UTF8')), 'hex') as digest
     from (select line, row_number() over () as place from (${RECORDS[name]}) as rows (line) limit $1) as numbered`,
    [limit],
  );
  return { count: Number(row!.count), digest: row!.digest };
}

/** @param ask in a snapshot */
export async function readCheckpoint(ask: Ask): Promise<LedgerCheckpoint> {
  const [cursor] = await ask<{
    sequence: bigint;
    head: string;
    event_time_ms: bigint | null;
    begins: bigint;
  }>('select *, (select min(sequence) from public.chain_heads) as begins from public.engine_cursor');
  const totals = await ask<{ asset: string; atoms: string }>(
    `select asset, sum(${SUPPLY_CHANGE})::text as atoms
     from public.movements group by asset order by asset`,
  );
  const { sequence, head, begins, event_time_ms: timeMs } = cursor!;
  return {
    sequence: Number(sequence),
    head,
    begins: Number(begins),
    time: timeMs === null ? null : new Date(Number(timeMs)).toISOString(),
    totals: Object.fromEntries(totals.map(({ asset, atoms }) => [asset, atoms])),
    closings: await digestOfRecords(ask, 'closings'),
    reconciliations: await digestOfRecords(ask, 'reconciliations'),
    epochs: await digestOfRecords(ask, 'epochs'),
    starts: await digestOfRecords(ask, 'starts'),
    heads: await digestOfRecords(ask, 'heads'),
    keys: await digestOfRecords(ask, 'keys'),
    seals: await digestOfRecords(ask, 'seals'),
    migrations: await digestOfRecords(ask, 'migrations'),
  };
}
