/**
 * Parses a Redis address from a setting: one server, the primary among copies that Postgres names, or a service that
 * keeps each write by itself.
 */

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /**
   * `server`: its only endpoint. `copies`: endpoints of all copies, one of which is the primary. `durable`: endpoints of
   * one or more nodes of a service that keeps each answered write by itself, also when another node takes over.
   */
  readonly kind: 'server' | 'copies' | 'durable';
  readonly endpoints: readonly HostPort[];
  readonly tls: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
}

const REDIS_PORT = 6379;
export const MAX_COPIES = 7;

/** Name of a server for Postgres, lists of copies and operators: `host:port`. */
export const serverName = ({ host, port }: HostPort): string => `${host}:${port}`;

/** @returns undefined if the text has none of these forms */
export function readRedisAddress(text: string): RedisAddress | undefined {
  const [, kind] = /^rediss?\+(copies|durable):/.exec(text) ?? [];
  if (kind === undefined) return readServer(text);
  const plain = text.replace(`+${kind}`, '');
  if (kind === 'durable' && !plain.includes(',')) {
    const server = readServer(plain);
    return server && { ...server, kind };
  }
  const list = readList(plain);
  if (list === undefined || (kind === 'copies' && list.endpoints.length > MAX_COPIES)) return undefined;
  return { ...list, kind: kind as 'copies' | 'durable' };
}

function readServer(text: string): RedisAddress | undefined {
  if (!/^rediss?:\/\/[^/]/.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text);
  const [, database] = /^\/?(\d{0,4})$/.exec(pathname) ?? [];
  const [user, secret] = [username, password].map(decoded);
  if (hostname === '' || hostname.includes(',') || database === undefined || search !== '' || hash !== '')
    return undefined;
  if (user === undefined || secret === undefined) return undefined;
  return {
    kind: 'server',
    endpoints: [{ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || REDIS_PORT) }],
    tls: protocol === 'rediss:',
    ...(user === '' ? {} : { username: user }),
    ...(secret === '' ? {} : { password: secret }),
    database: Number(database),
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Parses two or more hosts of one user. A URL allows only one host, so each host is parsed as a URL of its own. */
function readList(text: string): RedisAddress | undefined {
  const [, scheme, user = '', hosts] = /^(rediss?):\/\/([^@/]*@)?([^@/]+)\/?$/.exec(text) ?? [];
  const servers = hosts?.split(',').map((host) => readServer(`${scheme}://${user}${host}`)) ?? [];
  const [first] = servers;
  if (first === undefined || servers.length < 2 || servers.includes(undefined)) return undefined;
  return { ...first, endpoints: servers.flatMap((server) => server!.endpoints) };
}
