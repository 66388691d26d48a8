/** Checks a server for `/readyz`. */

import type { Logger } from 'pino';
import { errorRecord } from '../process/redact.ts';

export const NO_ANSWER = 'does not answer';

/**
 * Makes the check of a server. `/readyz` is public, so it only says that the server does not answer. The log has the
 * reason, once per outage.
 * @returns a function that resolves to `ok` or `does not answer`
 */
export function askedServer(
  name: string,
  logger: Logger,
  ask: () => Promise<unknown>,
): () => Promise<'ok' | typeof NO_ANSWER> {
  let isAway = false;
  return () =>
    ask().then(
      () => {
        isAway = false;
        return 'ok';
      },
      (error: unknown) => {
        if (!isAway) logger.warn({ error: errorRecord(error) }, `not ready: ${name} ${NO_ANSWER}`);
        isAway = true;
        return NO_ANSWER;
      },
    );
}
