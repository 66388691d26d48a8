/** Headers that every reply carries: names and values in turn. */

import helmet from 'helmet';

/** What is only for pages is left out: no reply is one. */
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

/** helmet is asked once: what it answers does not depend on the request, and asking takes it 7 calls. */
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
