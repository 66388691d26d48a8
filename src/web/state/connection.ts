/** The one connection of the page to the service that serves it. */

import { type Connection, openConnection } from '../../client/index.ts';
import { overviewAddress } from './selected-market.ts';

/** The service may live below a path of a proxy, as its page does. */
export const connection: Connection = openConnection({
  baseUrl: new URL(overviewAddress(), location.href).href,
});
