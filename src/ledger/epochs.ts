/** Epochs of the engine that began, as Postgres remembers them: no server begins one again. */

import { Refusal } from '../domain/errors.ts';
import type { BegunEpoch } from '../domain/event.ts';
import { keepList, NEXT_VERSION } from './copies.ts';
import { CURSOR_COLUMNS, type CursorRow, cursorOf, type SettledCursor } from './cursor.ts';
import type { Pools } from './pools.ts';
import { askOnce, prepared } from './queries.ts';

/** The knowledge of Postgres about the engine when a process opens it. */
interface OpeningPosition extends SettledCursor {
  /** The highest epoch that is noted; null before the first. */
  readonly begun: BegunEpoch | null;
}

interface PositionRow extends CursorRow {
  begun_epoch: number | null;
  begun_server: string | null;
}

const READ_POSITION = prepared(`
  select engine_cursor.*, begun.epoch as begun_epoch, begun.server as begun_server
  from (select ${CURSOR_COLUMNS} from public.engine_cursor) as engine_cursor
  left join lateral (select epoch, server from public.engine_epochs order by epoch desc limit 1) as begun on true`);

/** The commit waits for the disk, as of every session: a note that is lost lets an epoch begin twice. */
const NOTE = prepared(`
  with -- An engine that had copies goes on alone once they have left. Its row follows, or no copy could ever join again.
    alone as (
      ${NEXT_VERSION}, epoch = $1, begun_on = server, run_id = $2, former = '{}'
      where shard = 0 and epoch < $1 and members = array[server] and joining = '{}' returning version, mark
    ),
    kept as (${keepList('alone')}),
    added as (
      insert into public.engine_epochs (epoch, server) select $1::integer, $2::text
      where not exists (select from public.engine_copies where members <> array[server] or joining <> '{}')
      on conflict do nothing returning server
    )
  select server from added union all select server from public.engine_epochs where epoch = $1`);
const HAS_COPIES = prepared(
  `select from public.engine_copies where members <> array[server] or joining <> '{}'`,
);

/** The start of an epoch is noted with its first event, and nothing else begins a later one. */
const PAST_EPOCH = prepared(`
  select (select server from public.engine_epochs where epoch = $1) as server,
    (select sequence from public.epoch_starts where epoch > $1 order by epoch limit 1) as next_start`);

/** The knowledge of Postgres about an epoch that has ended. */
interface PastEpoch {
  /** Run id of the server on which it began; null if Postgres was put back to before its note. */
  readonly server: string | null;
  /** The first settled event of a later epoch; null if there is none. */
  readonly nextStart: number | null;
}

export type EpochRegister = ReturnType<typeof epochRegister>;

/** The register of epochs. Methods throw `Refusal` SERVICE_UNAVAILABLE when Postgres is unavailable. */
export function epochRegister({ public: pool }: Pick<Pools, 'public'>) {
  return {
    /** Returns the cursor and the highest epoch that began, as of the same moment. */
    async position(): Promise<OpeningPosition> {
      const rows = await askOnce<PositionRow>(pool, READ_POSITION);
      const cursor = cursorOf(rows);
      const { begun_epoch: epoch, begun_server: server } = rows[0]!;
      return { ...cursor, begun: epoch === null || server === null ? null : { epoch, server } };
    },

    async past(epoch: number): Promise<PastEpoch> {
      const [row] = await askOnce<{ server: string | null; next_start: bigint | null }>(pool, PAST_EPOCH, [
        epoch,
      ]);
      const { server, next_start: start } = row!;
      return { server, nextStart: start === null ? null : Number(start) };
    },

    /**
     * Notes that an epoch began on a server.
     * @param server run id of the server
     * @returns the run id under which the epoch is noted: another server's when the epoch began there before
     * @throws Refusal SERVICE_UNAVAILABLE where the engine has copies: its epochs begin on the named primary alone
     */
    async note({ epoch, server }: BegunEpoch): Promise<string> {
      for (;;) {
        const [noted] = await askOnce<{ server: string }>(pool, NOTE, [epoch, server]);
        // A row that another process adds at this moment is seen by the next statement.
        if (noted !== undefined) return noted.server;
        if ((await askOnce(pool, HAS_COPIES)).length > 0)
          throw new Refusal('SERVICE_UNAVAILABLE', 'the engine has copies, and REDIS_URL names one server');
      }
    },
  };
}
