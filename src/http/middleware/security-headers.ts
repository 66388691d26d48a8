/** Security headers of every reply. */

import helmet from 'helmet';
import { type FixedHeaders, linesOf } from '../response/index.ts';

/** Headers for HTML pages are left out, because API replies are not pages. */
const secure = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

/** The headers never change, so helmet runs once. Running it for each request would cost 7 calls. */
export const SECURITY_HEADERS = headersOf(secure);

function headersOf(middleware: typeof secure): FixedHeaders {
  const headers: string[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  };
  middleware({} as never, recorder as never, () => undefined);
  return { headers, lines: linesOf(headers) };
}
