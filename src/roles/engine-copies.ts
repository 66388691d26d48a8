/** The engine's copies as each process sees them: its rounds, its notes of epochs, and the primary that it looks for. */

import type { Redis } from 'ioredis';
import { Refusal } from '../domain/errors.ts';
import {
  CopyRounds,
  type EpochNotes,
  foreignFormat,
  giveList,
  markOf,
  otherFormat,
  rankOfPrimary,
} from '../engine/index.ts';
import type { CopiesRow, CopyRegister } from '../ledger/index.ts';
import type { Metrics } from '../process/metrics.ts';
import { readRedisAddress, serverName } from '../redis/address.ts';
import { askServer, type RedisServer } from '../redis/connections.ts';
import { endpointOf } from '../redis/found-server.ts';

export interface EngineCopies {
  readonly rounds: CopyRounds;
  /** Notes epochs on the named primary alone. */
  readonly epochs: EpochNotes;
  /**
   * Makes sure that the engine's connection leads to the named primary, that the primary has its list, and that rounds
   * can be asked there.
   * @throws Refusal SERVICE_UNAVAILABLE after it has left another server, to look again
   */
  checkPrimary(): Promise<void>;
  /**
   * Makes sure that no server has an engine of another format. It works before any of them is a primary.
   * @throws EngineFormat; Refusal SERVICE_UNAVAILABLE while none answers
   */
  checkFormat(): Promise<void>;
  close(): void;
}

interface CopiesOptions {
  readonly at: RedisServer;
  readonly engineRedis: Redis;
  /** A connection beside that of the engine, which rounds block. */
  readonly roundsRedis: Redis;
  readonly register: CopyRegister;
  readonly minCopies: number;
  readonly metrics: Pick<Metrics, 'observeRound'>;
}

export const hasCopies = ({ redisUrl }: { readonly redisUrl: string }): boolean =>
  readRedisAddress(redisUrl)?.kind === 'copies';

/** Returns the names that answers must wait for. */
export const listOf = ({ version, mark, members, joining }: CopiesRow) => ({
  version,
  mark,
  names: [...members, ...joining],
});

export function openCopies(options: CopiesOptions): EngineCopies {
  const { at, engineRedis, roundsRedis, register, minCopies, metrics } = options;
  const rounds = new CopyRounds({ redis: roundsRedis, minCopies, observe: metrics.observeRound });
  const nameOf = (): string => {
    const endpoint = endpointOf(engineRedis);
    return endpoint === undefined ? '' : serverName(endpoint);
  };
  const followed = async (): Promise<void> => {
    const endpoint = endpointOf(engineRedis);
    if (endpoint !== undefined) await rounds.follow(endpoint);
  };
  const refused = (text: string): Refusal => new Refusal('SERVICE_UNAVAILABLE', text);
  return {
    rounds,
    epochs: {
      async note(begun) {
        const server = nameOf();
        const row = await register.read();
        if (row?.server !== server) throw refused(`${server} is not the named primary of the engine`);
        await giveList(engineRedis, listOf(row));
        if ((await markOf(engineRedis)) !== row.mark) {
          // A keeper may have changed the row, and given the server its list, since it was read.
          const isChanged = (await register.read())?.mark !== row.mark;
          throw refused(
            isChanged
              ? 'the copies changed meanwhile'
              : `${server} has another list than Postgres: run 'copies adopt'`,
          );
        }
        const noted = await register.note(begun, row, minCopies);
        if (noted === undefined) throw refused(`epoch ${begun.epoch} may not begin on ${server}`);
        const now = await register.read();
        if (now?.server === server) await giveList(engineRedis, listOf(now));
        return noted;
      },
    },
    async checkPrimary() {
      // An epoch with a note opens also while Postgres is away: rounds fail on a server that the copies have left.
      const row = await register.read().catch(() => null);
      const server = nameOf();
      if (row === null || row?.server === server) {
        // From here on, fewer copies may answer than when these left.
        if (row && row.former.length > 0 && row.members.length >= minCopies) await register.forgetFormer(row);
        else if (row) await giveList(engineRedis, listOf(row));
        return followed();
      }
      // A primary with a later list stays in use while Postgres is older than it.
      if (row !== undefined && ((await rankOfPrimary(engineRedis)) ?? 0) > row.version) return followed();
      engineRedis.disconnect(true);
      throw refused(
        row === undefined
          ? 'no primary of the engine is named yet: settlement names the first one'
          : `${row.server} is the named primary of the engine, and this is ${server}`,
      );
    },
    async checkFormat() {
      const asked = readRedisAddress(at.url)!.endpoints.map((server) =>
        askServer(at, server, foreignFormat).then(
          (format) => ({ format }),
          () => undefined,
        ),
      );
      const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined);
      if (answers.length === 0) throw refused('no copy of the engine answers');
      for (const { format } of answers) if (format !== undefined) throw otherFormat(format);
    },
    close: () => roundsRedis.disconnect(),
  };
}
