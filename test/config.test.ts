/** Tests the configuration: defaults, derived values, and the error message for each invalid variable. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { expect } from 'chai';
import {
  CONFIG_TABLE,
  ConfigError,
  type Role,
  readConfig,
  readOwnCopies,
  requireFor,
  SECRET_NAMES,
} from '../src/config.ts';

const SECRET = 'x'.repeat(32);
const OWN = {
  REDIS_URL: 'redis://redis.example:6379',
  DATABASE_URL: 'postgres://redbook@postgres.example/redbook',
  JWT_SECRET: SECRET,
  WEB_HOSTS: 'exchange.example',
};

function complaint(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error('nothing was wrong');
}

describe('configuration', () => {
  it('has a default for every variable', () => {
    expect(readConfig({})).to.deep.equal({
      port: 8080,
      operatorPort: 8081,
      host: '127.0.0.1',
      webUrl: 'http://localhost:8080',
      webHosts: ['localhost:8080', '127.0.0.1:8080'],
      serviceName: 'Redbook',
      networkId: '1',
      trustProxyHops: 0,
      blockedCountries: [],
      legacyPrefix: '/v1/coingecko',
      maxMakers: 1000,
      maxLiveOrders: 10000,
      eventsStayMs: 600000,
      scrubDays: 30,
      engineDurability: 'checked',
      claimFilterBytes: 16777216,
      maxFillsPerOrder: 1000,
      maxFillsPerReply: 5000,
      engineMinCopies: 2,
      engineDownAfterMs: 5000,
      engineCopyLateMs: 10000,
      drainMs: 10000,
      wsMaxClients: 10000,
      wsMaxClientsPerAddress: 100,
      wsMaxLagMs: 10000,
      handshakesPerMinute: 300,
      replyStallMs: 10000,
      keepAliveMs: 620000,
      demoFaucet: true,
      dataDir: '.data',
      logLevel: 'info',
    });
  });

  it('reads every variable', () => {
    const config = readConfig({
      ...OWN,
      PORT: '9000',
      HOST: '::1',
      METRICS_PORT: '9001',
      OPERATOR_PORT: '9002',
      QUEUE_REDIS_URL: 'rediss://:secret@queue.example',
      REDIS_CA: rootCertificates[0]!,
      JWT_SECRET_PREVIOUS: SECRET,
      WEB_URL: 'https://exchange.example/',
      WEB_HOSTS: 'Exchange.example, localhost:3000,[::1]:3000',
      SERVICE_NAME: 'Blue Book',
      NETWORK_ID: '8453',
      NUMERAIRE: 'USDC',
      TRUST_PROXY_HOPS: '2',
      COUNTRY_HEADER: 'CF-IPCountry',
      BLOCKED_COUNTRIES: 'cu, KP',
      LEGACY_PREFIX: '/legacy',
      MAX_MAKERS: '10',
      MAX_LIVE_ORDERS: '20',
      CLAIM_FILTER_BYTES: '65536',
      EVENTS_STAY_MS: '3600000',
      SCRUB_DAYS: '7',
      ENGINE_DURABILITY: 'trusted',
      MAX_FILLS_PER_ORDER: '21',
      MAX_FILLS_PER_REPLY: '22',
      ENGINE_LEAST_COPIES: '1',
      ENGINE_DOWN_AFTER_MS: '3000',
      ENGINE_COPY_LATE_MS: '4000',
      DRAIN_MS: '0',
      KEEP_ALIVE_MS: '90000',
      WS_MAX_CLIENTS: '30',
      WS_MAX_CLIENTS_PER_ADDRESS: '40',
      WS_MAX_LAG_MS: '50',
      REPLY_STALL_MS: '5000',
      ORDERS_PER_MINUTE: '600',
      HANDSHAKES_PER_MINUTE: '60',
      DEMO_FAUCET: 'off',
      DATA_DIR: '/var/lib/redbook',
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
    });
    expect(config).to.deep.equal({
      port: 9000,
      host: '::1',
      metricsPort: 9001,
      operatorPort: 9002,
      redisUrl: OWN.REDIS_URL,
      queueRedisUrl: 'rediss://:secret@queue.example',
      redisCa: rootCertificates[0],
      databaseUrl: OWN.DATABASE_URL,
      jwtSecret: SECRET,
      jwtSecretPrevious: SECRET,
      webUrl: 'https://exchange.example',
      webHosts: ['exchange.example', 'localhost:3000', '[::1]:3000'],
      serviceName: 'Blue Book',
      networkId: '8453',
      numeraire: 'USDC',
      trustProxyHops: 2,
      countryHeader: 'cf-ipcountry',
      blockedCountries: ['CU', 'KP'],
      legacyPrefix: '/legacy',
      maxMakers: 10,
      maxLiveOrders: 20,
      eventsStayMs: 3_600_000,
      scrubDays: 7,
      engineDurability: 'trusted',
      claimFilterBytes: 65_536,
      maxFillsPerOrder: 21,
      maxFillsPerReply: 22,
      engineMinCopies: 1,
      engineDownAfterMs: 3_000,
      engineCopyLateMs: 4_000,
      drainMs: 0,
      wsMaxClients: 30,
      wsMaxClientsPerAddress: 40,
      wsMaxLagMs: 50,
      ordersPerMinute: 600,
      handshakesPerMinute: 60,
      replyStallMs: 5000,
      keepAliveMs: 90000,
      demoFaucet: false,
      dataDir: '/var/lib/redbook',
      logLevel: 'debug',
      otlpEndpoint: 'http://collector:4318',
    });
    expect(Object.keys(config)).to.have.length(CONFIG_TABLE.length);
  });

  it('treats an empty variable as unset', () => {
    const empty = Object.fromEntries(CONFIG_TABLE.map(({ name }) => [name, '']));
    expect(readConfig(empty)).to.deep.equal(readConfig({}));
  });

  it('listens on this machine only with both servers of its own, unless HOST says otherwise', () => {
    expect(readConfig({ REDIS_URL: OWN.REDIS_URL }).host).to.equal(undefined);
    expect(readConfig({ DATABASE_URL: OWN.DATABASE_URL }).host).to.equal(undefined);
    expect(readConfig({ HOST: '0.0.0.0' }).host).to.equal('0.0.0.0');
    expect(readConfig({ ...OWN, HOST: '127.0.0.1' }).host).to.equal('127.0.0.1');
  });

  it('derives addresses from the port', () => {
    const { webUrl, webHosts } = readConfig({ PORT: '3000' });
    expect(webUrl).to.equal('http://localhost:3000');
    expect(webHosts).to.deep.equal(['localhost:3000', '127.0.0.1:3000']);
  });

  const wrong: [string, ...string[]][] = [
    ['PORT', '-1', '65536', '80.5', '0x50', 'http', '1e3', ' 80'],
    ['HOST', 'localhost', '127.1', '127.0.0.1:80', '[::1]', '*'],
    ['METRICS_PORT', '-1', '65536', '80.5'],
    ['OPERATOR_PORT', '-1', '65536', '80.5'],
    ['REDIS_URL', 'localhost:6379', 'http://localhost', 'redis://[', 'redis+sentinel://one,two/primary'],
    ['QUEUE_REDIS_URL', 'unix:/tmp/redis.sock', 'redis+copies://one,two', 'redis://one,two'],
    ['REDIS_CA', 'redis.pem', '-----BEGIN CERTIFICATE-----'],
    ['DATABASE_URL', 'mysql://localhost/x', 'redbook'],
    ['JWT_SECRET', 'short', 'x'.repeat(31)],
    ['JWT_SECRET_PREVIOUS', 'x'.repeat(31)],
    ['WEB_URL', 'exchange.example', 'ftp://exchange.example'],
    ['WEB_HOSTS', 'https://exchange.example', 'a.example,', 'a.example b.example', 'a.example/path', '-a'],
    ['SERVICE_NAME', ' Redbook', 'x'.repeat(65), 'Red\nbook'],
    ['NETWORK_ID', 'one two', 'x'.repeat(65)],
    ['NUMERAIRE', 'usdc', 'X'.repeat(17), 'ETH/USDC'],
    ['TRUST_PROXY_HOPS', 'true', '17'],
    ['COUNTRY_HEADER', 'country header', 'x:'],
    ['BLOCKED_COUNTRIES', 'Cuba', 'CU KP', 'QQ', 'UK', 'CU,,KP'],
    ['LEGACY_PREFIX', 'v1/coingecko', '/v1/', '/', '/a//b', '/:id'],
    ['MAX_MAKERS', '0', '5001'],
    ['MAX_LIVE_ORDERS', '0'],
    ['CLAIM_FILTER_BYTES', '32768', '100000', '34359738368', '16MiB', '65536.0'],
    ['MAX_FILLS_PER_ORDER', '0', '100001'],
    ['MAX_FILLS_PER_REPLY', '0', '1e3'],
    ['ENGINE_LEAST_COPIES', '0', '8'],
    ['ENGINE_DOWN_AFTER_MS', '499', '5s'],
    ['ENGINE_COPY_LATE_MS', '0', '1e4'],
    ['DRAIN_MS', '1s', '-1'],
    ['KEEP_ALIVE_MS', '1s', '999'],
    ['EVENTS_STAY_MS', '9999', '86400001', '10m'],
    ['SCRUB_DAYS', '0', '366', '30d'],
    ['ENGINE_DURABILITY', 'always'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['WS_MAX_CLIENTS', '0'],
    ['WS_MAX_CLIENTS_PER_ADDRESS', '0'],
    ['WS_MAX_LAG_MS', '-1'],
    ['REPLY_STALL_MS', '0'],
    ['ORDERS_PER_MINUTE', '49'],
    ['HANDSHAKES_PER_MINUTE', '0'],
    ['DEMO_FAUCET', 'true', 'ON'],
    ['DATA_DIR', 'a\0b'],
    ['LOG_LEVEL', 'verbose', 'INFO'],
  ];
  for (const [name, ...values] of wrong)
    it(`rejects an invalid ${name} by name`, () => {
      for (const value of values)
        expect(complaint(() => readConfig({ [name]: value }))).to.match(RegExp(`^${name} must be `));
    });

  it('covers every variable with an invalid value above', () => {
    expect(wrong.map(([name]) => name).sort()).to.deep.equal(CONFIG_TABLE.map(({ name }) => name).sort());
  });

  it('rejects copies that are not servers of their own, in one sentence', () => {
    const copies = {
      ...OWN,
      REDIS_URL: 'redis+copies://one,two:7000,three',
      QUEUE_REDIS_URL: 'redis://queue',
    };
    expect(readConfig(copies).redisUrl).to.equal(copies.REDIS_URL);
    const cases: [Record<string, string>, string][] = [
      [
        { REDIS_URL: 'redis+copies://one,one:6379' },
        'REDIS_URL must name each copy once; it names one:6379 twice.',
      ],
      [
        { QUEUE_REDIS_URL: '' },
        'QUEUE_REDIS_URL is required where REDIS_URL names copies: no copy can hold the queue.',
      ],
      [
        { QUEUE_REDIS_URL: 'redis://two:7000' },
        'QUEUE_REDIS_URL must name another server than the copies of REDIS_URL; both name two:7000.',
      ],
      [
        { ENGINE_LEAST_COPIES: '4' },
        'ENGINE_LEAST_COPIES must be at most the number of copies that REDIS_URL names, 3; it is 4.',
      ],
    ];
    for (const [wrong, sentence] of cases)
      expect(complaint(() => readConfig({ ...copies, ...wrong }))).to.equal(sentence);
    for (const REDIS_URL of [
      'redis+copies://one',
      'redis+copies://one,two/0',
      'redis+copies://1,2,3,4,5,6,7,8',
    ])
      expect(complaint(() => readConfig({ ...copies, REDIS_URL }))).to.match(/^REDIS_URL must be /);
  });

  it('rejects a number of own copies that the all-in-one cannot run, in one sentence', () => {
    expect(readOwnCopies([], readConfig({}))).to.equal(undefined);
    expect(readOwnCopies(['--copies', '3'], readConfig({}))).to.equal(3);
    const cases: [argv: string[], env: Record<string, string>, sentence: string][] = [
      [['--copies', '1'], {}, '--copies must be a whole number from 2 to 7; it is "1".'],
      [['--copies', '8'], {}, '--copies must be a whole number from 2 to 7; it is "8".'],
      [['--copies=three'], {}, '--copies must be a whole number from 2 to 7; it is "three".'],
      [['--copies'], {}, "Option '--copies <value>' argument missing."],
      [['--copy', '3'], {}, "Unknown option '--copy'."],
      [['--copies', '3'], OWN, 'REDIS_URL must be unset with --copies, which starts servers of its own.'],
      [
        ['--copies', '2'],
        { ENGINE_LEAST_COPIES: '3' },
        'ENGINE_LEAST_COPIES must be at most the number of --copies, 2; it is 3.',
      ],
    ];
    for (const [argv, env, sentence] of cases)
      expect(complaint(() => readOwnCopies(argv, readConfig(env)))).to.equal(sentence);
  });

  it('allows the faucet only with its own servers', () => {
    const { REDIS_URL, DATABASE_URL } = OWN;
    expect(readConfig({ DEMO_FAUCET: 'on' }).demoFaucet).to.equal(true);
    expect(readConfig({ DEMO_FAUCET: 'off' }).demoFaucet).to.equal(false);
    for (const given of [{ REDIS_URL }, { DATABASE_URL }, OWN]) {
      expect(readConfig(given).demoFaucet).to.equal(false);
      expect(complaint(() => readConfig({ ...given, DEMO_FAUCET: 'on' }))).to.equal(
        `DEMO_FAUCET must be off where ${Object.keys(given)[0]} is set: the faucet gives play money on its own servers only.`,
      );
    }
  });

  it('shows the invalid value, unless it is a secret', () => {
    expect(complaint(() => readConfig({ LOG_LEVEL: 'loud' }))).to.equal(
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent; it is "loud".',
    );
    expect(complaint(() => readConfig({ JWT_SECRET: 'hush' }))).to.not.contain('hush');
    expect(complaint(() => readConfig({ DATABASE_URL: 'x://u:hush@h/d' }))).to.not.contain('hush');
  });

  it('counts the bytes of a secret, not its letters', () => {
    expect(readConfig({ JWT_SECRET: 'é'.repeat(16) }).jwtSecret).to.equal('é'.repeat(16));
  });
});

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-config-'));
  const fileOf = (text: string): string => {
    const path = join(folder, 'secret');
    writeFileSync(path, text);
    return path;
  };
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is read, without the newline at its end', () => {
    const config = readConfig({ REDIS_URL_FILE: fileOf(`${OWN.REDIS_URL}\n`) });
    expect(config.redisUrl).to.equal(OWN.REDIS_URL);
  });

  it('is validated like any other, and not shown', () => {
    const message = complaint(() => readConfig({ JWT_SECRET_FILE: fileOf('hush') }));
    expect(message).to.equal('JWT_SECRET must be at least 32 bytes long.');
  });

  it('is unset if the file is empty, as a previous key usually is', () => {
    expect(readConfig({ JWT_SECRET_PREVIOUS_FILE: fileOf('\n') })).to.not.have.property('jwtSecretPrevious');
  });

  it('must exist, and must not be given twice', () => {
    expect(complaint(() => readConfig({ JWT_SECRET_FILE: join(folder, 'none') }))).to.match(
      /^JWT_SECRET_FILE must be a file that can be read/,
    );
    expect(complaint(() => readConfig({ JWT_SECRET: SECRET, JWT_SECRET_FILE: fileOf(SECRET) }))).to.equal(
      'JWT_SECRET and JWT_SECRET_FILE are both set; one of them must go.',
    );
  });

  it('is possible for every secret, and for nothing else', () => {
    expect(SECRET_NAMES).to.have.members([
      'REDIS_URL',
      'QUEUE_REDIS_URL',
      'REDIS_CA',
      'DATABASE_URL',
      'JWT_SECRET',
      'JWT_SECRET_PREVIOUS',
    ]);
    expect(readConfig({ PORT_FILE: fileOf('9000') }).port).to.equal(8080);
  });
});

describe('what a role requires', () => {
  const needs = (role: Role, env: NodeJS.ProcessEnv): string =>
    complaint(() => requireFor(role, readConfig(env)));

  it('is nothing for `all` with its own servers', () => {
    requireFor('all', readConfig({}));
  });

  it('is nothing for `all` with given servers, because one process can make and keep its key', () => {
    const { REDIS_URL, DATABASE_URL } = OWN;
    expect(readConfig({ REDIS_URL, DATABASE_URL }).webHosts).to.deep.equal([]);
    requireFor('all', readConfig({ REDIS_URL, DATABASE_URL }));
  });

  it('is servers, a key and hosts for api', () => {
    expect(needs('api', { ...OWN, DATABASE_URL: '' })).to.equal('DATABASE_URL is required by the role api.');
    expect(needs('api', { ...OWN, JWT_SECRET: '' })).to.equal('JWT_SECRET is required by the role api.');
    expect(needs('api', { ...OWN, WEB_HOSTS: '' })).to.equal('WEB_HOSTS is required by the role api.');
    requireFor('api', readConfig(OWN));
  });

  it('is servers for the other roles, which do not sign in wallets', () => {
    expect(needs('stream', {})).to.equal('REDIS_URL is required by the role stream.');
    expect(needs('settlement', {})).to.equal(
      'REDIS_URL and DATABASE_URL are required by the role settlement.',
    );
    expect(needs('snapshot', {})).to.equal('REDIS_URL and DATABASE_URL are required by the role snapshot.');
    expect(needs('migrate', {})).to.equal('DATABASE_URL is required by the role migrate.');
  });
});
