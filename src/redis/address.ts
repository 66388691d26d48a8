/**
 * Parses a Redis address from a setting: one server, a cluster, the primary that Sentinels name, or the primary among
 * copies that Postgres names.
 */

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /**
   * `server`: its only endpoint. `cluster`: endpoints of some nodes, which know the others. `sentinel`: endpoints of
   * Sentinels, which know the primary. `copies`: endpoints of all copies, one of which is the primary.
   */
  readonly kind: 'server' | 'cluster' | 'sentinel' | 'copies';
  /** True if the service keeps each answered write by itself, also when another server takes over. */
  readonly durable?: true;
  readonly endpoints: readonly HostPort[];
  readonly tls: boolean;
  /** User of the Redis server. Sentinels are queried without a user. */
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** Name by which the Sentinels know the primary. */
  readonly primaryName?: string;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
export const MAX_COPIES = 7;

/** Name of a server for Postgres, lists of copies and operators: `host:port`. */
export const serverName = ({ host, port }: HostPort): string => `${host}:${port}`;

/** @returns undefined if the text has none of these forms */
export function readRedisAddress(text: string): RedisAddress | undefined {
  if (/^rediss?\+sentinel:/.test(text)) return readSentinels(text);
  if (/^rediss?\+copies:/.test(text)) return readCopies(text);
  if (/^rediss?\+durable:/.test(text)) {
    const server = text.includes(',') ? undefined : readServer(text.replace('+durable', ''));
    return server && { ...server, durable: true };
  }
  const servers = text.split(',').map(readServer);
  const [first] = servers;
  if (first === undefined) return undefined;
  if (servers.length === 1) return first;
  const isOneCluster = servers.every(
    (server) =>
      server !== undefined &&
      server.database === 0 &&
      server.tls === first.tls &&
      server.username === first.username &&
      server.password === first.password,
  );
  const endpoints = servers.flatMap((server) => server?.endpoints ?? []);
  return isOneCluster ? { ...first, kind: 'cluster', endpoints } : undefined;
}

function readServer(text: string): RedisAddress | undefined {
  if (!/^rediss?:\/\/[^/]/.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text);
  const [, database] = /^\/?(\d{0,4})$/.exec(pathname) ?? [];
  const [user, secret] = [username, password].map(decoded);
  if (hostname === '' || database === undefined || search !== '' || hash !== '') return undefined;
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

/** Parses a list of copies. A URL allows only one host, so each host is parsed as a separate server URL. */
function readCopies(text: string): RedisAddress | undefined {
  const [, scheme, user = '', hosts] = /^(rediss?)\+copies:\/\/([^@/]*@)?([^@/]+)\/?$/.exec(text) ?? [];
  const servers = hosts?.split(',').map((host) => readServer(`${scheme}://${user}${host}`)) ?? [];
  const [first] = servers;
  if (first === undefined || servers.length < 2 || servers.length > MAX_COPIES) return undefined;
  if (servers.includes(undefined)) return undefined;
  return { ...first, kind: 'copies', endpoints: servers.flatMap((server) => server!.endpoints) };
}

/** Like `readCopies`, for Sentinels. */
function readSentinels(text: string): RedisAddress | undefined {
  const [, tls, user = '', hosts, primaryName] =
    /^redis(s?)\+sentinel:\/\/([^@/]*@)?([^@/]+)\/([\w.-]+)$/.exec(text) ?? [];
  if (hosts === undefined || primaryName === undefined) return undefined;
  const servers = hosts.split(',').map((host) => readServer(`redis://${user}${host}`));
  const [first] = servers;
  if (first === undefined || servers.includes(undefined)) return undefined;
  const endpoints = servers.map((server, at) => {
    const isNamed = /:\d+$/.test(hosts.split(',')[at]!);
    return isNamed ? server!.endpoints[0]! : { ...server!.endpoints[0]!, port: SENTINEL_PORT };
  });
  return { ...first, kind: 'sentinel', endpoints, tls: tls === 's', primaryName };
}
