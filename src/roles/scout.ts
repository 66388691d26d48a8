/**
 * Checks the servers that settings name while the all-in-one starts its own. A mistyped URL is thus reported at once,
 * not only after a database has been created.
 */

import type { Config } from '../config.ts';
import { openLedger } from '../ledger/index.ts';
import { connectRedis } from '../redis/connections.ts';
import { OF_ENGINE, OF_MIGRATIONS, type Outages } from './outages.ts';
import { serverNames } from './server-names.ts';
import { untilDone } from './waiting.ts';

/** Reports to `outages` under the same names as the roles, which take over from it. */
export function scoutServers(config: Config, outages: Outages): { close(): void } {
  const { redisUrl, redisCa, databaseUrl } = config;
  const names = serverNames(config);
  const redis =
    redisUrl === undefined
      ? undefined
      : connectRedis({ url: redisUrl, ca: redisCa }, 'all-scout', outages.listener(names.engine, OF_ENGINE));
  const ledger = databaseUrl === undefined ? undefined : openLedger({ databaseUrl, poolSize: 1 });
  let closed = false;
  const asking =
    ledger &&
    untilDone(
      async () => {
        if (closed) return;
        const answered = outages.expect(names.postgres, OF_MIGRATIONS);
        await ledger.ping();
        answered();
        outages.clear(names.postgres, OF_MIGRATIONS);
      },
      (error) => outages.report(names.postgres, OF_MIGRATIONS, error),
    );
  return {
    close() {
      closed = true;
      redis?.disconnect();
      void asking?.then(() => ledger?.close());
    },
  };
}
