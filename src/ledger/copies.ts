/**
 * The row of the engine's copies: Postgres alone decides which server is the primary and which ones count as copies.
 * Every change names the version that it changes, and adds 1 to it.
 */

import type { BegunEpoch } from '../domain/event.ts';
import { FLUSHED } from './flushing.ts';
import type { Pools } from './pools.ts';
import { askOnce, prepared } from './queries.ts';

export interface CopiesRow {
  /** Name of the primary. */
  readonly server: string;
  readonly version: number;
  /** The last epoch that began; 0 before the first. */
  readonly epoch: number;
  /** Name of the server of that epoch. */
  readonly begunOn: string;
  /** Names of the servers that have every answered order. */
  readonly members: readonly string[];
  /** Names of the servers that answers wait for already, and that may not be named yet. */
  readonly joining: readonly string[];
  /** Time of the last naming; null before the first. */
  readonly namedAt: Date | null;
}

const COLUMNS = `server, version, epoch, begun_on as "begunOn", members, joining, named_at as "namedAt"`;
/** Each change waits for the disk: a copy that counts again after it left may lack answered orders. */
const DURABLY = `with durably as materialized (select ${FLUSHED})`;

const READ = prepared(`select ${COLUMNS} from public.engine_copies where shard = 0`);

/** An engine that had no copies goes on with its last epoch, on the same server. */
const BEGIN = prepared(`${DURABLY}
  insert into public.engine_copies (server, members, epoch, begun_on)
  select $1::text, array[$1::text], coalesce((select max(epoch) from public.engine_epochs), 0), $1 from durably
  on conflict do nothing`);

const change = (changes: string, where: string) =>
  prepared(`${DURABLY}
    update public.engine_copies set version = version + 1, ${changes} from durably
    where shard = 0 and version = $1 and ${where} returning ${COLUMNS}`);

const NAME = change(
  `server = $2, joining = '{}', named_at = clock_timestamp()`,
  `server <> $2 and $2 = any (members)`,
);
const LEAVE = change(
  `members = array_remove(members, $2), joining = array_remove(joining, $2)`,
  `server <> $2 and $2 = any (members || joining)`,
);
const START_JOINING = change(`joining = array[$2]`, `joining = '{}' and not $2 = any (members)`);
const JOIN = change(`members = members || joining, joining = '{}'`, `joining = array[$2]`);

const RESET = prepared(`${DURABLY}
  insert into public.engine_copies (server, version, epoch, begun_on, members, named_at)
  select $1, $2 + 1, $3, $1, array[$1::text], clock_timestamp() from durably
  on conflict (shard) do update set server = excluded.server, version = excluded.version, epoch = excluded.epoch,
    begun_on = excluded.begun_on, members = excluded.members, joining = '{}', named_at = excluded.named_at`);

/**
 * Notes an epoch and its server at once. The server of the epoch before stops being a copy: it may have events that
 * nobody was told of.
 */
const NOTE = prepared(`${DURABLY},
  begun as (
    update public.engine_copies set version = version + 1, epoch = $1, begun_on = server, joining = '{}',
      members = case when begun_on = server then members else array_remove(members, begun_on) end
    from durably
    where shard = 0 and server = $3 and server = any (members) and version = $4 and epoch < $1
      and not exists (select from public.engine_epochs where engine_epochs.epoch >= $1)
    returning 1
  ),
  added as (insert into public.engine_epochs (epoch, server) select $1, $2 from begun returning server)
  select server from added union all select server from public.engine_epochs where epoch = $1`);

export type CopyRegister = ReturnType<typeof copyRegister>;

/** The register of copies. Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function copyRegister({ public: pool }: Pick<Pools, 'public'>) {
  const read = async (): Promise<CopiesRow | undefined> => (await askOnce<CopiesRow>(pool, READ))[0];
  const changed = async (
    statement: ReturnType<typeof change>,
    { version }: Pick<CopiesRow, 'version'>,
    server: string,
  ): Promise<CopiesRow | undefined> => (await askOnce<CopiesRow>(pool, statement, [version, server]))[0];
  return {
    read,

    /** Begins the row with a server as the only copy, unless there is one. */
    async begin(server: string): Promise<void> {
      await askOnce(pool, BEGIN, [server]);
    },

    /**
     * Notes that an epoch began on a server, whose list has the version of the row.
     * @returns the run id under which the epoch is noted; undefined where the row does not allow the epoch
     */
    async note(begun: BegunEpoch, { server, version }: Pick<CopiesRow, 'server' | 'version'>) {
      const values = [begun.epoch, begun.server, server, version];
      return (await askOnce<{ server: string }>(pool, NOTE, values))[0]?.server;
    },

    /**
     * Makes a server the only copy, whatever the row says. It is for operators, who know what may be lost.
     * @param to.version the highest version of the row and of any server
     */
    async reset(to: Pick<CopiesRow, 'server' | 'version' | 'epoch'>): Promise<void> {
      await askOnce(pool, RESET, [to.server, to.version, to.epoch]);
    },

    // Each of these returns the changed row, or undefined when the row is another one by now.

    /** Names a member as the primary. */
    name: (row: CopiesRow, server: string) => changed(NAME, row, server),
    /** Answers stop waiting for a server after this. */
    leave: (row: CopiesRow, server: string) => changed(LEAVE, row, server),
    /** Answers begin to wait for a server after this. */
    startJoining: (row: CopiesRow, server: string) => changed(START_JOINING, row, server),
    /** Makes the joining server a member, after a whole round that waited for it. */
    join: (row: CopiesRow, server: string) => changed(JOIN, row, server),
  };
}
