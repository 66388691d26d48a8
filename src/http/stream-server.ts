/** Address of the streams for browsers: the host of `WEB_URL`, over TLS if that URL has https. */

interface StreamAddress {
  readonly protocol: 'ws' | 'wss';
  /** Includes the port, if the URL has one. */
  readonly host: string;
}

/** @param webUrl as configured; never from the Host header, which the sender of a request chooses */
export function streamServerOf(webUrl: string): StreamAddress {
  const { host, protocol } = new URL(webUrl);
  return { protocol: protocol === 'https:' ? 'wss' : 'ws', host };
}
