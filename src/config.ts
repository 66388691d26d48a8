/**
 * Reads the configuration: every environment variable with its default and validation. No other file reads the
 * environment. `docs/configuration.md` contains CONFIG_TABLE; a test compares them.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { validateHeaderName } from 'node:http';
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { StartRefusal } from './domain/errors.ts';
import { MAX_COPIES, type RedisAddress, readRedisAddress, serverName } from './redis/address.ts';

export interface Config {
  /** 0 means any free port. */
  readonly port: number;
  /** IP address to listen on; absent for all interfaces. */
  readonly host?: string;
  /** 0 means any free port. If absent, `/metrics` is served on `port`. */
  readonly metricsPort?: number;
  /** Port of the routes for operators. 0 means any free port. */
  readonly operatorPort: number;
  /** If `redisUrl` or `databaseUrl` is absent, the all-in-one starts its own server. */
  readonly redisUrl?: string;
  /** Defaults to `redisUrl`. */
  readonly queueRedisUrl?: string;
  /** Certificates in PEM form; default Node's own. */
  readonly redisCa?: string;
  readonly databaseUrl?: string;
  readonly jwtSecret?: string;
  readonly jwtSecretPrevious?: string;
  /** Has no trailing slash. */
  readonly webUrl: string;
  /** `host` or `host:port`, lower-case. Empty if required but not set; see requireFor. */
  readonly webHosts: readonly string[];
  readonly serviceName: string;
  readonly networkId: string;
  /** Defaults to the quote asset of the first market. */
  readonly numeraire?: string;
  readonly trustProxyHops: number;
  /** Lower-case. If absent, countries are not checked. */
  readonly countryHeader?: string;
  /** Upper-case ISO 3166-1 codes of two letters. */
  readonly blockedCountries: readonly string[];
  readonly legacyPrefix: string;
  readonly maxMakers: number;
  readonly maxLiveOrders: number;
  /** A power of two. */
  readonly claimFilterBytes: number;
  /** Least time that settled events stay in the engine, in milliseconds. */
  readonly eventsStayMs: number;
  readonly scrubDays: number;
  readonly engineDurability: (typeof DURABILITIES)[number];
  readonly maxFillsPerOrder: number;
  readonly maxFillsPerReply: number;
  /** The next three apply where `redisUrl` names copies. */
  readonly engineMinCopies: number;
  readonly engineDownAfterMs: number;
  readonly engineCopyLateMs: number;
  readonly drainMs: number;
  readonly keepAliveMs: number;
  readonly wsMaxClients: number;
  readonly wsMaxClientsPerAddress: number;
  readonly wsMaxLagMs: number;
  readonly replyStallMs: number;
  /** Absent: no limit. */
  readonly ordersPerMinute?: number;
  readonly handshakesPerMinute: number;
  /** Defaults to true if both servers are the all-in-one's own. */
  readonly demoFaucet: boolean;
  readonly dataDir: string;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** Has no trailing slash. If absent, no spans are made. */
  readonly otlpEndpoint?: string;
}

export type Role = 'all' | 'api' | 'stream' | 'settlement' | 'snapshot' | 'operator-api' | 'migrate';

/** A variable is missing or invalid. The message names it and the rule it breaks, but never a secret's value. */
export class ConfigError extends StartRefusal {
  override readonly name = 'ConfigError';

  constructor(message: string) {
    super(message, 2);
  }
}

interface Setting<T> {
  /** Name of the environment variable. */
  readonly name: string;
  /** Default as a user would set it; null if there is none. */
  readonly default: string | null;
  /** Describes the default if it depends on something. */
  readonly defaultNote?: string;
  readonly meaning: string;
  /** Completes "NAME must be …". */
  readonly mustBe: string;
  readonly secret?: true;
  readonly schema: z.ZodType<T, string>;
}

const MIN_SECRET_BYTES = 32;
const MAX_LEVEL_OF_PROXIES = 16;

function wholeNumber(min: number, max: number): Pick<Setting<number>, 'mustBe' | 'schema'> {
  return {
    mustBe: `a whole number from ${min} to ${max}`,
    schema: z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number)
      .pipe(z.number().min(min).max(max)),
  };
}

function powerOfTwo(min: number, max: number): Pick<Setting<number>, 'mustBe' | 'schema'> {
  const { schema } = wholeNumber(min, max);
  return {
    mustBe: `a power of two from ${min} to ${max}`,
    schema: schema.refine((value) => Number.isInteger(Math.log2(value))),
  };
}

function urlOf(...schemes: string[]): Pick<Setting<string>, 'mustBe' | 'schema'> {
  const prefixes = schemes.map((scheme) => `${scheme}://`);
  const fits = (text: string): boolean =>
    prefixes.some((prefix) => text.startsWith(prefix)) && URL.canParse(text);
  return { mustBe: `a URL that begins with ${prefixes.join(' or ')}`, schema: z.string().refine(fits) };
}

const HTTP_URL = urlOf('http', 'https');
const WEB_ADDRESS = {
  mustBe: HTTP_URL.mustBe,
  schema: HTTP_URL.schema.transform((text) => text.replace(/\/+$/, '')),
};

const SERVER_OR_SERVICE =
  'redis://user:password@host:port/0; redis+durable://user:password@host:port, or several host:port with commas ' +
  'between; rediss:// with TLS';

function redisAt(
  mustBe: string,
  ...kinds: RedisAddress['kind'][]
): Pick<Setting<string>, 'mustBe' | 'schema'> {
  const fits = (text: string): boolean => kinds.some((kind) => kind === readRedisAddress(text)?.kind);
  return { mustBe, schema: z.string().refine(fits) };
}

const secretKey: Pick<Setting<string>, 'mustBe' | 'schema' | 'secret'> = {
  mustBe: `at least ${MIN_SECRET_BYTES} bytes long`,
  schema: z.string().refine((text) => Buffer.byteLength(text) >= MIN_SECRET_BYTES),
  secret: true,
};

/** Parses a comma-separated list. Blanks around items are ignored. */
function listOf(item: z.ZodType<string, string>): z.ZodType<string[], string> {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item));
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}

const upperCase = z.string().transform((text) => text.toUpperCase());
const lowerCase = z.string().transform((text) => text.toLowerCase());
const HOST = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const DURABILITIES = ['checked', 'trusted'] as const;

const regionNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });

/** Rejects aliases such as UK: no proxy sends them, so they would block nobody. */
function isCountry(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code) || regionNames.of(code) === undefined) return false;
  return new Intl.Locale(`und-${code}`).region === code;
}

function isHeaderName(text: string): boolean {
  try {
    validateHeaderName(text);
    return true;
  } catch {
    return false;
  }
}

const SETTINGS = {
  port: {
    name: 'PORT',
    default: '8080',
    meaning: 'port for HTTP and the streams; 0 picks a free port',
    ...wholeNumber(0, 65_535),
  },
  host: {
    name: 'HOST',
    default: null,
    defaultNote: '`127.0.0.1` with own servers, else all interfaces',
    meaning: 'IP address to listen on; `::` or `0.0.0.0` for all interfaces',
    mustBe: 'an IP address, like 127.0.0.1 or ::',
    schema: z.string().refine((text) => isIP(text) !== 0),
  },
  metricsPort: {
    name: 'METRICS_PORT',
    default: null,
    defaultNote: '`PORT`',
    meaning: 'port for `/metrics`, which `PORT` then no longer serves; 0 picks a free port',
    ...wholeNumber(0, 65_535),
  },
  operatorPort: {
    name: 'OPERATOR_PORT',
    default: '8081',
    meaning:
      'port of the routes for operators, which `PORT` never serves (`operator-api`, `all`); 0 picks a free port; ' +
      '`all` listens on 127.0.0.1 only, on another free port if this one is taken',
    ...wholeNumber(0, 65_535),
  },
  redisUrl: {
    name: 'REDIS_URL',
    default: null,
    defaultNote: 'own Redis (`all` only)',
    meaning:
      'URL of the engine’s Redis, 7 or newer; `redis+copies://host,host,host` for an engine with copies, ' +
      '`redis+durable://host` for a service that keeps each write by itself',
    ...redisAt(
      `${SERVER_OR_SERVICE}; redis+copies://user:password@host:port,host:port,host:port for two to seven copies`,
      'server',
      'copies',
      'durable',
    ),
    secret: true,
  },
  queueRedisUrl: {
    name: 'QUEUE_REDIS_URL',
    default: null,
    defaultNote: '`REDIS_URL`',
    meaning: 'URL of the Redis for queues, rate limits and the streams',
    ...redisAt(SERVER_OR_SERVICE, 'server', 'durable'),
    secret: true,
  },
  redisCa: {
    name: 'REDIS_CA',
    default: null,
    defaultNote: 'Node’s own',
    meaning: 'CA certificates (PEM) for `rediss://` servers',
    mustBe: 'certificates in PEM form',
    schema: z.string().refine(isCertificate),
    secret: true,
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    default: null,
    defaultNote: 'own Postgres (`all` only)',
    meaning: 'URL of the Postgres with the ledger and the history',
    ...urlOf('postgres', 'postgresql'),
    secret: true,
  },
  jwtSecret: {
    name: 'JWT_SECRET',
    default: null,
    defaultNote: 'random, kept in `DATA_DIR` (`all` only)',
    meaning: 'key that signs sessions, at least 32 bytes; the same on every replica',
    ...secretKey,
  },
  jwtSecretPrevious: {
    name: 'JWT_SECRET_PREVIOUS',
    default: null,
    defaultNote: 'none',
    meaning: 'previous signing key; sessions it signed stay valid during a rotation',
    ...secretKey,
  },
  webUrl: {
    name: 'WEB_URL',
    default: null,
    defaultNote: '`http://localhost:PORT`',
    meaning: 'public URL of the trading page, for links in market data and as the host of its streams',
    ...WEB_ADDRESS,
  },
  webHosts: {
    name: 'WEB_HOSTS',
    default: null,
    defaultNote: '`localhost:PORT,127.0.0.1:PORT` (own servers only)',
    meaning:
      'allowed hosts of sign-in messages and of pages that call protected routes, each with and without `www.`; ' +
      'pages need `https` except on `localhost`',
    mustBe: 'a comma-separated list of hosts, like exchange.example,localhost:3000, without https://',
    schema: listOf(lowerCase.pipe(z.string().regex(HOST))),
  },
  serviceName: {
    name: 'SERVICE_NAME',
    default: 'Redbook',
    meaning: 'service name that wallets show at sign-in; issuer of sessions',
    mustBe: '1 to 64 letters, digits, spaces, dots, hyphens or underscores, a letter or digit first',
    schema: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/),
  },
  networkId: {
    name: 'NETWORK_ID',
    default: '1',
    meaning: 'default network ID of new markets',
    mustBe: '1 to 64 characters without blanks',
    schema: z.string().regex(/^\S{1,64}$/),
  },
  numeraire: {
    name: 'NUMERAIRE',
    default: null,
    defaultNote: 'quote asset of the first market',
    meaning: 'asset for the value of equity and free collateral',
    mustBe: 'an asset symbol: 1 to 16 capital letters or digits',
    schema: z.string().regex(/^[A-Z0-9]{1,16}$/),
  },
  trustProxyHops: {
    name: 'TRUST_PROXY_HOPS',
    default: '0',
    meaning: 'number of trusted reverse proxies in front of the service',
    ...wholeNumber(0, MAX_LEVEL_OF_PROXIES),
  },
  countryHeader: {
    name: 'COUNTRY_HEADER',
    default: null,
    defaultNote: 'off',
    meaning: "request header with the client's country, set by a trusted proxy",
    mustBe: 'the name of an HTTP header',
    schema: lowerCase.refine(isHeaderName),
  },
  blockedCountries: {
    name: 'BLOCKED_COUNTRIES',
    default: null,
    defaultNote: 'none',
    meaning: 'countries whose clients cannot sign in or place orders, as ISO 3166-1 codes',
    mustBe: 'a comma-separated list of ISO 3166-1 country codes, like CU,KP',
    schema: listOf(upperCase.refine(isCountry)),
  },
  legacyPrefix: {
    name: 'LEGACY_PREFIX',
    default: '/v1/coingecko',
    meaning: 'path prefix of the deprecated market-data routes',
    mustBe: 'a path that begins with / and does not end with it',
    schema: z.string().regex(/^(\/[A-Za-z0-9._~-]+)+$/),
  },
  maxMakers: {
    name: 'MAX_MAKERS',
    default: '1000',
    meaning: 'maximum resting orders that one incoming order may meet',
    ...wholeNumber(1, 5_000),
  },
  maxLiveOrders: {
    name: 'MAX_LIVE_ORDERS',
    default: '10000',
    meaning: 'maximum live orders of a wallet',
    ...wholeNumber(1, 1_000_000),
  },
  claimFilterBytes: {
    name: 'CLAIM_FILTER_BYTES',
    default: '16777216',
    meaning:
      'size of the first Bloom filter of used client order ids and references, about two bytes per id, ' +
      'and of the one that `ledger rebuild` makes; it grows by itself',
    ...powerOfTwo(64 * 1024, 16 * 1024 ** 3),
  },
  eventsStayMs: {
    name: 'EVENTS_STAY_MS',
    default: '600000',
    meaning:
      'minimum time that settled events are kept, in milliseconds; a restored Postgres may lag by this much; ' +
      'shorter while its memory is more than half full',
    ...wholeNumber(10_000, 86_400_000),
  },
  scrubDays: {
    name: 'SCRUB_DAYS',
    default: '30',
    meaning: 'days within which `ledger reconcile` reads each sealed segment of the ledger again',
    ...wholeNumber(1, 365),
  },
  engineDurability: {
    name: 'ENGINE_DURABILITY',
    default: 'checked',
    meaning:
      '`trusted`: use a Redis whose settings cannot be read (CONFIG GET), or a Postgres with `fsync` or `full_page_writes` off; durability is then your responsibility; `checked` refuses both',
    mustBe: `one of ${DURABILITIES.join(', ')}`,
    schema: z.enum(DURABILITIES),
  },
  maxFillsPerOrder: {
    name: 'MAX_FILLS_PER_ORDER',
    default: '1000',
    meaning: 'maximum fills shown of one order; older ones are left out',
    ...wholeNumber(1, 100_000),
  },
  maxFillsPerReply: {
    name: 'MAX_FILLS_PER_REPLY',
    default: '5000',
    meaning: 'maximum fills shown of all orders in one reply',
    ...wholeNumber(1, 100_000),
  },
  engineMinCopies: {
    name: 'ENGINE_LEAST_COPIES',
    default: '2',
    meaning:
      'minimum copies that have an order before it is answered, the primary included' +
      '; as many must answer before a server that was started again may lead',
    ...wholeNumber(1, 7),
  },
  engineDownAfterMs: {
    name: 'ENGINE_DOWN_AFTER_MS',
    default: '5000',
    meaning: 'time before another copy replaces a silent primary, in milliseconds',
    ...wholeNumber(500, 600_000),
  },
  engineCopyLateMs: {
    name: 'ENGINE_COPY_LATE_MS',
    default: '10000',
    meaning: 'time before answers no longer wait for a silent copy, in milliseconds',
    ...wholeNumber(500, 600_000),
  },
  drainMs: {
    name: 'DRAIN_MS',
    default: '10000',
    meaning: 'time for requests in flight to finish at shutdown, in milliseconds',
    ...wholeNumber(0, 600_000),
  },
  keepAliveMs: {
    name: 'KEEP_ALIVE_MS',
    default: '620000',
    meaning: 'time for which an idle connection stays open, in milliseconds',
    ...wholeNumber(1_000, 3_600_000),
  },
  wsMaxClients: {
    name: 'WS_MAX_CLIENTS',
    default: '10000',
    meaning: 'maximum stream connections of a process',
    ...wholeNumber(1, 1_000_000),
  },
  wsMaxClientsPerAddress: {
    name: 'WS_MAX_CLIENTS_PER_ADDRESS',
    default: '100',
    meaning: 'maximum stream connections of a process from one address',
    ...wholeNumber(1, 1_000_000),
  },
  wsMaxLagMs: {
    name: 'WS_MAX_LAG_MS',
    default: '10000',
    meaning: 'time before a stream client that does not read is closed, in milliseconds',
    ...wholeNumber(0, 600_000),
  },
  ordersPerMinute: {
    name: 'ORDERS_PER_MINUTE',
    default: null,
    defaultNote: 'no limit',
    meaning:
      'maximum orders of a wallet in any 60 seconds, over all replicas; those of order batches and replacements count, cancels do not',
    ...wholeNumber(50, 1_000_000),
  },
  handshakesPerMinute: {
    name: 'HANDSHAKES_PER_MINUTE',
    default: '300',
    meaning: 'maximum stream handshakes a minute from one address, at one process',
    ...wholeNumber(1, 1_000_000),
  },
  replyStallMs: {
    name: 'REPLY_STALL_MS',
    default: '10000',
    meaning:
      'time before the connection of a client that takes less than 16 KiB of its reply is ended, in milliseconds',
    ...wholeNumber(100, 600_000),
  },
  demoFaucet: {
    name: 'DEMO_FAUCET',
    default: null,
    defaultNote: '`on` with own servers, else `off`',
    meaning: 'play money for wallets that sign in on this machine; needs own servers',
    mustBe: 'on or off',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
  },
  dataDir: {
    name: 'DATA_DIR',
    default: '.data',
    meaning: 'data folder of own servers',
    mustBe: 'a folder',
    schema: z.string().refine((text) => !text.includes('\0')),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    default: 'info',
    meaning: `minimum level to log: ${LOG_LEVELS.join(', ')}`,
    mustBe: `one of ${LOG_LEVELS.join(', ')}`,
    schema: z.enum(LOG_LEVELS),
  },
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: null,
    defaultNote: 'off',
    meaning:
      'URL of an OpenTelemetry collector, like `http://collector:4318`, that gets the spans of requests, scripts and settlements',
    ...WEB_ADDRESS,
  },
} satisfies { [K in keyof Config]-?: Setting<Config[K]> };

const ALL_SETTINGS: readonly (readonly [key: string, Setting<unknown>])[] = Object.entries(SETTINGS);

/** The table of docs/configuration.md. */
export const CONFIG_TABLE: readonly { name: string; default: string; meaning: string }[] = ALL_SETTINGS.map(
  ([, setting]) => ({
    name: setting.name,
    default: setting.defaultNote ?? `\`${setting.default}\``,
    meaning: setting.meaning,
  }),
);

/** Variables that hold a secret. Each may also be given as `NAME_FILE`, the path of a file that contains it. */
export const SECRET_NAMES: readonly string[] = ALL_SETTINGS.filter(([, { secret }]) => secret).map(
  ([, { name }]) => name,
);

type Settings = typeof SETTINGS;
type WithDefault = {
  [K in keyof Settings]: Settings[K]['default'] extends null ? never : K;
}[keyof Settings];
/** Values from the environment and the table. The type makes the compiler check that a required field has a value. */
type Given = Partial<Config> & Pick<Config, WithDefault>;

/**
 * Reads the configuration. An empty variable counts as unset, because compose files pass unset variables as empty.
 * @throws ConfigError
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = ALL_SETTINGS.map(([key, setting]) => [
    key,
    parse(setting, given(setting, env) ?? setting.default),
  ]);
  const set: Given = Object.fromEntries(read.filter(([, value]) => value !== undefined));
  const { port, metricsPort, redisUrl, databaseUrl } = set;
  if (port !== 0 && metricsPort === port) {
    throw new ConfigError(`METRICS_PORT must be another port than PORT; both are ${port}.`);
  }
  checkCopies(set);
  const ownServers = !redisUrl || !databaseUrl;
  const host = set.host ?? (redisUrl || databaseUrl ? undefined : OWN_HOST);
  return {
    ...set,
    ...(host !== undefined && { host }),
    demoFaucet: offersFaucet(set),
    webUrl: set.webUrl ?? webUrlOn(port),
    webHosts: set.webHosts ?? (ownServers ? webHostsOn(port) : []),
    blockedCountries: set.blockedCountries ?? [],
  };
}

/** @throws ConfigError unless the engine's copies, if there are any, are servers of their own */
function checkCopies({ redisUrl = '', queueRedisUrl, engineMinCopies }: Given): void {
  const { kind, endpoints = [] } = readRedisAddress(redisUrl) ?? {};
  if (kind !== 'copies') return;
  const names = endpoints.map(serverName);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined)
    throw new ConfigError(`REDIS_URL must name each copy once; it names ${twice} twice.`);
  if (engineMinCopies > names.length)
    throw new ConfigError(
      `ENGINE_LEAST_COPIES must be at most the number of copies that REDIS_URL names, ${names.length}; it is ${engineMinCopies}.`,
    );
  if (queueRedisUrl === undefined)
    throw new ConfigError(
      'QUEUE_REDIS_URL is required where REDIS_URL names copies: no copy can hold the queue.',
    );
  const queue = readRedisAddress(queueRedisUrl)?.endpoints.map(serverName) ?? [];
  const shared = queue.find((name) => names.includes(name));
  if (shared !== undefined)
    throw new ConfigError(
      `QUEUE_REDIS_URL must name another server than the copies of REDIS_URL; both name ${shared}.`,
    );
}

/**
 * Reads the arguments of the all-in-one.
 * @returns the number of copies of its own engine; undefined if the engine has none
 * @throws ConfigError
 */
export function readOwnCopies(
  argv: readonly string[],
  { redisUrl, engineMinCopies }: Config,
): number | undefined {
  const text = copiesArgument(argv);
  if (text === undefined) return undefined;
  const count = /^\d$/.test(text) ? Number(text) : 0;
  if (count < 2 || count > MAX_COPIES)
    throw new ConfigError(
      `--copies must be a whole number from 2 to ${MAX_COPIES}; it is ${JSON.stringify(text)}.`,
    );
  if (redisUrl !== undefined)
    throw new ConfigError('REDIS_URL must be unset with --copies, which starts servers of its own.');
  if (engineMinCopies > count)
    throw new ConfigError(
      `ENGINE_LEAST_COPIES must be at most the number of --copies, ${count}; it is ${engineMinCopies}.`,
    );
  return count;
}

function copiesArgument(argv: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...argv], options: { copies: { type: 'string' } } }).values.copies;
  } catch (error) {
    throw new ConfigError(`${(error as Error).message.split('. ')[0]}.`);
  }
}

/**
 * Returns true if the faucet is on. Play money is allowed only on the all-in-one's own servers: another Redis or
 * Postgres may hold a real ledger.
 * @throws ConfigError
 */
function offersFaucet({ demoFaucet, redisUrl, databaseUrl }: Partial<Config>): boolean {
  const given = redisUrl ? 'REDIS_URL' : databaseUrl ? 'DATABASE_URL' : undefined;
  if (demoFaucet === true && given !== undefined) {
    throw new ConfigError(
      `DEMO_FAUCET must be off where ${given} is set: the faucet gives play money on its own servers only.`,
    );
  }
  return demoFaucet ?? given === undefined;
}

/** The all-in-one with both servers of its own is for one person on one machine. */
export const OWN_HOST = '127.0.0.1';

const webUrlOn = (port: number): string => `http://localhost:${port}`;
const webHostsOn = (port: number): string[] => [`localhost:${port}`, `127.0.0.1:${port}`];

/**
 * Returns the configuration with the port that the process really listens on, which differs from the setting for PORT
 * 0.
 */
export function listeningOn(config: Config, port: number): Config {
  const isDefault = String(config.webHosts) === String(webHostsOn(config.port));
  return {
    ...config,
    port,
    webUrl: config.webUrl === webUrlOn(config.port) ? webUrlOn(port) : config.webUrl,
    webHosts: isDefault ? webHostsOn(port) : config.webHosts,
  };
}

/**
 * Returns the text of a setting from the environment. Removes the newline that editors add at the end of a secret's
 * file.
 */
function given({ name, secret }: Setting<unknown>, env: NodeJS.ProcessEnv): string | undefined {
  const text = env[name];
  const file = secret && env[`${name}_FILE`];
  if (!file) return text || undefined;
  if (text) throw new ConfigError(`${name} and ${name}_FILE are both set; one of them must go.`);
  try {
    return readFileSync(file, 'utf8').trimEnd() || undefined;
  } catch (error) {
    throw new ConfigError(`${name}_FILE must be a file that can be read (${(error as Error).message}).`);
  }
}

function parse<T>(setting: Setting<T>, text: string | null): T | undefined {
  if (text === null) return undefined;
  const parsed = setting.schema.safeParse(text);
  if (parsed.success) return parsed.data;
  const found = setting.secret ? '' : `; it is ${JSON.stringify(text)}`;
  throw new ConfigError(`${setting.name} must be ${setting.mustBe}${found}.`);
}

/** Settings that each role requires. `all` requires none: it generates missing ones and keeps them. */
const REQUIRED = {
  all: [],
  api: ['redisUrl', 'databaseUrl', 'jwtSecret', 'webHosts'],
  stream: ['redisUrl'],
  settlement: ['redisUrl', 'databaseUrl'],
  snapshot: ['redisUrl', 'databaseUrl'],
  'operator-api': ['redisUrl', 'databaseUrl'],
  migrate: ['databaseUrl'],
} as const satisfies Record<Role, readonly (keyof Config)[]>;

/** Configuration with every setting that the role requires. */
export type ConfigOf<R extends Role> = Config & Required<Pick<Config, (typeof REQUIRED)[R][number]>>;

const isUnset = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

const missingFor = (role: Role, config: Config): readonly (keyof Config)[] =>
  REQUIRED[role].filter((key) => isUnset(config[key]));

const isComplete = <R extends Role>(role: R, config: Config): config is ConfigOf<R> =>
  missingFor(role, config).length === 0;

/**
 * @returns the same configuration, with the type for the role
 * @throws ConfigError that names every variable the role requires and that is not set
 */
export function requireFor<R extends Role>(role: R, config: Config): ConfigOf<R> {
  if (isComplete(role, config)) return config;
  const names = missingFor(role, config).map((key) => SETTINGS[key].name);
  const verb = names.length === 1 ? 'is' : 'are';
  throw new ConfigError(`${names.join(' and ')} ${verb} required by the role ${role}.`);
}
