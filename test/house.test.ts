/**
 * Enforces the documented structure where no linter can: patterns in sources, and tables of the documents. Biome,
 * dependency-cruiser and knip hold the imports, with the settings at the top of the repository.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { FLOORS, MAY_USE } from '../.dependency-cruiser.mjs';
import { CONFIG_TABLE } from '../src/config.ts';
import {
  errorFrameSchema,
  marketFrameSchema,
  snapshotFrameSchema,
  tickerFrameSchema,
} from '../src/contract/frames.ts';
import * as bounds from '../src/domain/bounds.ts';
import { ERRORS } from '../src/domain/errors.ts';
import { END_REASONS } from '../src/domain/order.ts';
import { BUCKETS } from '../src/http/limits/buckets.ts';
import { LOCAL_ROUTES, ROUTES } from '../src/http/routes.ts';
import { orderReplySchema, ordersSchema, walletTradesSchema } from '../src/order/reply.ts';
import { BROWSER_FIRST, SELECTION } from './selection.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

const NO_NAMES = ['utils', 'helpers', 'common', 'misc', 'types'];

const filesBelow = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));

const RELATIVE_IMPORT = /^(?:import|export) (type )?[^'";]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/**
 * A spread literal is forbidden, because it only keeps the formatter from breaking lines and makes readers wonder what
 * is merged.
 */
const IDLE_SPREAD = /^ *\.\.\.(?:\{ .* \}|\[.*\]),?$/gm;
/** Names that are declared together only to save lines. */
const JOINED = /^ *(?:export )?(?:const|let) \[[^\]]*\] = \[.*\](?: as const)?;$/gm;
/** An exported arrow function with a body, whose type is not annotated on the name. */
const ARROW_FUNCTION =
  /^export const (\w+) = (?:async )?(?:<.*>)?\((?:.*|\n(?: {2}.*\n)*)\)(?:: .+)? => \{$/gm;

const MAX_FUNCTION_LINES = 70;
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

describe('the house', () => {
  const files = filesBelow(SRC, /\.(ts|tsx|mjs)$/);

  it('says at the head of a room what the room may use and where to begin', () => {
    const wrong = Object.entries(MAY_USE).flatMap(([room, { runs = [], types = [] }]) => {
      const index = join(ROOT, 'src', room, 'index.ts');
      if (!existsSync(index)) return [];
      const [head = ''] = /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(index, 'utf8')) ?? [];
      const used = `Uses: ${runs.join(', ')}${types.length > 0 ? `; types of ${types.join(', ')}` : ''}.`;
      const begins = [...head.slice(head.indexOf('Begin at')).matchAll(/`([^`]+)`/g)];
      const files = begins.map(([, file]) => file!).filter((file) => !file.startsWith('lua/'));
      const isRight =
        head.includes(used) && files.length > 0 && files.every((file) => existsSync(join(index, '..', file)));
      return isRight ? [] : [room];
    });
    expect(wrong).to.deep.equal([]);
  });

  it('lets each room run and name only rooms that it does run and name', () => {
    const used = new Set(
      files.flatMap((file) =>
        [...readFileSync(file, 'utf8').matchAll(RELATIVE_IMPORT)].flatMap(([, type, named, called]) => {
          const pair = `${roomOf(file)} ${roomOf(join(dirname(file), (named ?? called)!))}`;
          return type === undefined ? [`runs: ${pair}`, `types: ${pair}`] : [`types: ${pair}`];
        }),
      ),
    );
    const idle = Object.entries(MAY_USE).flatMap(([room, { runs = [], types = [] }]) =>
      [
        ...runs.map((other) => `runs: ${room} ${other}`),
        ...types.map((other) => `types: ${room} ${other}`),
      ].filter((use) => !used.has(use)),
    );
    expect(idle).to.deep.equal([]);
  });

  it('makes connections to Redis in one file', () => {
    const makers = files.filter((file) => /new (Redis|Cluster)\(/.test(readFileSync(file, 'utf8')));
    expect(makers.map((file) => relative(SRC, file))).to.deep.equal(['redis/connections.ts']);
  });

  it('reads the environment in one place', () => {
    const readers = files.filter((file) => /process\.env\b(?!\))/.test(readFileSync(file, 'utf8')));
    const allowed = /^(config\.ts|main\.ts|embedded\/.*\.mjs)$/;
    expect(readers.map((file) => relative(SRC, file)).filter((file) => !allowed.test(file))).to.deep.equal(
      [],
    );
  });

  it('writes the hash tag once', () => {
    const writers = files.filter((file) => /['"`]\{redbook\}/.test(readFileSync(file, 'utf8')));
    expect(writers.map((file) => relative(SRC, file))).to.deep.equal(['redis/tag.ts']);
  });

  it('loads OpenTelemetry in one file, which only a process with an endpoint imports', () => {
    const importing = (pattern: RegExp): string[] =>
      files.filter((file) => pattern.test(readFileSync(file, 'utf8'))).map((file) => relative(SRC, file));
    expect(importing(/^import (?!type )[^;]*from '@opentelemetry\//m)).to.deep.equal(['process/otlp.ts']);
    expect(importing(/from '.*\/otlp\.ts'/)).to.deep.equal([]);
    expect(importing(/import\('.*\/otlp\.ts'\)/)).to.deep.equal(['process/spans.ts']);
  });

  it('has functions that fit a screen', () => {
    const long = files.flatMap((file) =>
      functionsOf(readFileSync(file, 'utf8'))
        .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
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

  const written = (form: RegExp, among: readonly string[]): string[] =>
    among.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(form)].map(
        ([text]) => `${relative(ROOT, file)}: ${text.trim().split('\n')[0]}`,
      ),
    );

  it('writes lists, objects and declarations out, in the tests too', () => {
    const all = [...files, ...filesBelow(join(ROOT, 'test'), /\.(?:ts|mjs)$/)];
    expect([IDLE_SPREAD, JOINED].flatMap((form) => written(form, all))).to.deep.equal([]);
  });

  it('writes exported functions of several lines as declarations', () =>
    expect(written(ARROW_FUNCTION, files)).to.deep.equal([]));

  it('has each test file in one of `npm test` and `npm run proofs`', () => {
    const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => `test/${file}`);
    const selected = [...Object.values(SELECTION).flat(), ...BROWSER_FIRST];
    expect(selected.sort()).to.deep.equal(files.sort());
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
    const asked = [...all.matchAll(/^ *--- include (\w+)$/gm)].map(([, name]) => name!);
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
    const floors = [...section.split('\n## ')[0]!.matchAll(/^\d+\. (.*)$/gm)].map(([, rooms]) =>
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

  it('show replies and frames that the contract describes', () => {
    const schemas = [
      orderReplySchema,
      ordersSchema,
      walletTradesSchema,
      snapshotFrameSchema,
      tickerFrameSchema,
      marketFrameSchema,
      errorFrameSchema,
    ];
    const text = readFileSync(join(ROOT, 'docs/examples/replies.md'), 'utf8');
    const shown = [...text.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, json]) => JSON.parse(json!));
    expect(shown.length).to.equal(schemas.length);
    for (const [index, schema] of schemas.entries())
      expect(schema.parse(shown[index])).to.deep.equal(shown[index]);
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

describe('package-lock.json', () => {
  it('has the digest of every package that npm downloads', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const downloaded = Object.entries<{ integrity?: string; link?: true }>(packages).filter(
      ([path, { link }]) => path !== '' && link === undefined,
    );
    const without = downloaded.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ''));
    expect(without.map(([path]) => path)).to.deep.equal([]);
  });
});

describe('the version of package.json', () => {
  const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const { version } = JSON.parse(textOf('package.json'));
  const placed: [path: string, pattern: RegExp][] = [
    ['package-lock.json', /^ {2}"version": "(.*)",$/m],
    ['package-lock.json', /^ {6}"name": "redbook",\n {6}"version": "(.*)",$/m],
    ['docker-compose.yml', /\$\{REDBOOK_IMAGE:-redbook:(.*)\}/],
    ['k8s/images/kustomization.yaml', /- name: redbook\n {4}newTag: (.*)$/m],
    ['k8s/images/kustomization.yaml', /- name: redbook-backup\n {4}newTag: (.*)$/m],
    ['docs/operating.md', /redbook:(\d+\.\d+\.\d+)/],
    ['CHANGELOG.md', /^## (\d+\.\d+\.\d+)/m],
  ];

  for (const [path, pattern] of placed)
    it(`stands in ${path}: ${pattern.source}`, () => {
      expect(pattern.exec(textOf(path))?.[1]).to.equal(version);
    });
});

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

  const numbers = new Intl.NumberFormat('en');
  /** Default of a setting as the tables of bounds show it. */
  const shownDefault = (setting: string): string => {
    const text = CONFIG_TABLE.find(({ name }) => name === setting)!.default.replaceAll('`', '');
    return /^\d+$/.test(text) ? numbers.format(Number(text)) : text;
  };
  const rowsOfBounds = (columns: number): string[][] => {
    const rows = rowsOf('docs/hostile-input.md', 'Bounds').filter((cells) => cells.length === columns);
    for (const cells of rows) expect(cells.filter((cell) => cell === '')).to.deep.equal([]);
    return rows;
  };

  it('list every bound over all callers with its numbers', () => {
    const streams = ['WS_MAX_CLIENTS_PER_ADDRESS', 'WS_MAX_CLIENTS'];
    const expected = [
      ...Object.entries(bounds).flatMap(([name, bound]) =>
        typeof bound === 'number'
          ? []
          : [[`\`${name}\``, numbers.format(bound.ofHolder), numbers.format(bound.inAll)]],
      ),
      [streams.map((name) => `\`${name}\``).join(', '), ...streams.map(shownDefault)],
    ];
    const shown = rowsOfBounds(7).map(([name = '', share, inAll]) => [
      name.replace(/ .bytes.$/, ''),
      share,
      inAll,
    ]);
    expect(shown).to.have.deep.members(expected);
    // Streams take theirs from settings.
    const makers = filesBelow(SRC, /\.ts$/).filter((file) =>
      readFileSync(file, 'utf8').includes('new Bound('),
    );
    const others = makers.filter((file) => !readFileSync(file, 'utf8').includes("domain/bounds.ts'"));
    expect(others.map((file) => relative(ROOT, file))).to.deep.equal(['src/stream/index.ts']);
  });

  it('list every limit of a holder with its default', () => {
    const settings = CONFIG_TABLE.map(({ name }) => name).filter((name) =>
      /_PER_MINUTE$|^MAX_LIVE_/.test(name),
    );
    const expected = [
      ...settings.map((name) => [`\`${name}\``, shownDefault(name)]),
      ...Object.entries(bounds).flatMap(([name, bound]) =>
        typeof bound === 'number' ? [[`\`${name}\``, numbers.format(bound)]] : [],
      ),
      ...Object.entries(BUCKETS).map(([name, { limit }]) => [`\`${name}\``, `${limit} a minute`]),
    ];
    const shown = rowsOfBounds(6).map((cells) => cells.slice(0, 2));
    expect(shown).to.have.deep.members(expected);
  });

  it('leave out no constant that limits what callers keep waiting', () => {
    const declared = filesBelow(SRC, /\.ts$/).flatMap((file) =>
      [
        ...readFileSync(file, 'utf8').matchAll(
          /^(?:export )?const (MAX_(?:WAITING|HELD|OPEN|PENDING)\w*) =/gm,
        ),
      ].map(([, name]) => `${relative(SRC, file)}: ${name}`),
    );
    // Lines of the log for a slow disk, and cancels that a worker takes at a time.
    const ofProcesses = ['roles/log-file.ts: MAX_WAITING_BYTES', 'workers/due-cancels.ts: MAX_HELD'];
    expect(declared).to.have.members(ofProcesses);
  });

  it('list every setting of the code', () => {
    const expected = CONFIG_TABLE.map(({ name, default: value, meaning }) => [`\`${name}\``, value, meaning]);
    expect(rowsOf('docs/configuration.md', 'Settings')).to.deep.equal(expected);
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
