/** The service that serves the page: the connection to it, and what it offers. */

import { type Connection, openConnection } from '../../client/index.ts';
import { overviewAddress } from './selected-market.ts';

/** The service may live below a path of a proxy, as its page does. */
export const connection: Connection = openConnection({
  baseUrl: new URL(overviewAddress(), location.href).href,
});

/** True when the service offers a throw-away wallet and test funds. */
export const demoOffered: boolean =
  document.querySelector<HTMLMetaElement>('meta[name="redbook-demo"]')?.content === 'true';
