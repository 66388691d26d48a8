/** Where browsers find the streams: on the host of `WEB_URL`, by TLS if that URL says https. */

interface StreamServer {
  readonly protocol: 'ws' | 'wss';
  /** With its port, if the URL has one. */
  readonly host: string;
}

/** @param webUrl as configured: never the Host header, which the sender of a request chooses */
export function streamServerOf(webUrl: string): StreamServer {
  const { host, protocol } = new URL(webUrl);
  return { protocol: protocol === 'https:' ? 'wss' : 'ws', host };
}
