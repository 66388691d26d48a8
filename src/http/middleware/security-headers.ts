/** Headers that every reply carries: names and values in turn. */

import helmet from 'helmet';

/** Headers for pages are left out, because replies of the API are no pages. */
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

/** The headers never change, so helmet is asked once. Asking it for each request costs 7 calls. */
export const SECURITY_HEADERS = headersOf(secure);

function headersOf(middleware: typeof secure): readonly string[] {
  const headers: string[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  };
  middleware({} as never, recorder as never, () => undefined);
  return headers;
}
