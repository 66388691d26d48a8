/** Finds the primary among the copies of the engine by asking all of them. */

import type { HostPort } from './address.ts';
import type { Find } from './found-server.ts';

interface PrimaryOptions {
  readonly servers: readonly HostPort[];
  /** Ranks a server that is a primary; undefined for a replica. Rejects when the server does not answer. */
  readonly rankOf: (server: HostPort) => Promise<number | undefined>;
}

/**
 * Returns a search for the primary of the highest rank, the first one of equal ranks. A server that nobody has told yet
 * of its successor may be found while the successor does not answer: whoever uses it must check.
 */
export const findPrimary =
  ({ servers, rankOf }: PrimaryOptions): Find =>
  async (_isWanted, tell) => {
    const ranks = await Promise.all(
      servers.map((server) =>
        rankOf(server).catch((error: Error) => {
          tell(error);
          return undefined;
        }),
      ),
    );
    const highest = Math.max(...ranks.map((rank) => rank ?? -1));
    return highest < 0 ? undefined : servers[ranks.indexOf(highest)];
  };
