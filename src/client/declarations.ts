/**
 * Writes the types of the package as one file without imports: the compiler's declarations of the sources, with
 * interfaces generated from the contract's schemas in place of the derived types.
 */

import { z } from 'zod';
import { decimalText } from '../contract/values.ts';
import { ERRORS } from '../domain/errors.ts';
import { PLAIN_NUMBERS } from './exact-json.ts';

/** Schemas by the names that the contract exports them under. */
type Schemas = Readonly<Record<string, z.ZodType>>;

/** Texts by the names of their modules. */
type Modules = Readonly<Record<string, string>>;

/** A top-level declaration with its comment. */
interface Declaration {
  /** Without `export`. */
  readonly text: string;
  /** Words of its code, which include the names of other types. */
  readonly names: ReadonlySet<string>;
  readonly isType: boolean;
}

/**
 * @param modules declarations that the compiler made, by the name of their source; `index` defines what is public
 * @param sources the sources themselves, whose first comments describe files
 * @param schemas schemas that `Read<typeof …>` refers to
 */
export function flatDeclarations(modules: Modules, sources: Modules, schemas: Schemas): string {
  const named = namedSchemas(modules.replies!, schemas);
  const all = new Map<string, Declaration>();
  const add = (name: string, text: string): void => {
    const code = text.replace(/\/\*\*[\s\S]*?\*\//g, '');
    all.set(name, {
      text,
      isType: !/^declare (?:const|function)/m.test(code),
      names: new Set(code.match(/\b\w+\b/g)),
    });
  };
  add('ErrorCode', errorCodes());
  for (const [module, text] of Object.entries(modules)) {
    if (module === 'index') continue;
    for (const [name, declaration] of declarationsIn(withoutFileComment(text, sources[module]!))) {
      const schema = named.get(name);
      add(name, schema === undefined ? declaration : interfaceText(name, schema, named));
    }
  }
  const published = publicNames(modules);
  const needed = closure(published, all);
  const parts = [...needed].map((name) => {
    const { text } = all.get(name)!;
    return published.has(name) ? text.replace(/^(?!\/\*\*| \*)/m, 'export ') : text;
  });
  return `/** The typed client of Redbook. */\n\n${parts.join('\n\n')}\n\nexport {};\n`;
}

/** Returns everything that the public names refer to, in the order of the sources. */
function closure(published: ReadonlySet<string>, all: ReadonlyMap<string, Declaration>): Set<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    const declaration = all.get(name);
    if (declaration === undefined || found.has(name)) return;
    // A function is named only where it is called, and so in no declaration: here its name stands for something else.
    if (!declaration.isType && !published.has(name)) return;
    found.add(name);
    for (const other of declaration.names) visit(other);
  };
  for (const name of published) visit(name);
  return new Set([...all.keys()].filter((name) => found.has(name)));
}

function publicNames({ index = '', replies = '' }: Modules): Set<string> {
  const lists = [...index.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list]) => list!);
  const names = lists.flatMap((list) => list.split(',').map((name) => name.replace(/\btype\b/, '').trim()));
  const ofReplies = declarationsIn(replies).map(([name]) => name);
  return new Set([
    ...names.filter((name) => name !== ''),
    ...ofReplies.filter((name) => !INTERNAL.has(name)),
  ]);
}

/** Types that derive the types of the sources. */
const INTERNAL: ReadonlySet<string> = new Set(['Exact', 'PlainNumber', 'Read', 'NamesOfNumbers']);

/**
 * Removes the comment of a file. The compiler keeps it, and it would be taken for the comment of the first declaration.
 */
function withoutFileComment(text: string, source: string): string {
  const [comment = ''] = /^\/\*\*[\s\S]*?\*\/\n/.exec(source) ?? [];
  return text.startsWith(comment) ? text.slice(comment.length) : text;
}

const START = /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+)/m;

/** Returns the declarations of a file in order, each with the comment before it. */
function declarationsIn(text: string): [name: string, text: string][] {
  const pieces = text
    .replace(/^import [^;]*;\n/gm, '')
    .replace(/^export (?:type )?\{[^}]*\}[^;]*;\n?/gm, '')
    .split(/(?<!\*\/)\n(?=\/\*\*|(?:export|declare|interface|type) )/);
  return pieces
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '')
    .map((piece) => {
      const [, name] = START.exec(piece) ?? [];
      if (name === undefined) throw new Error(`no declaration: ${piece}`);
      return [name, readable(piece.replace(/^export /m, ''))];
    });
}

/** Names for parameters that the sources destructure. */
const PARAMETERS: readonly (readonly [type: RegExp, name: string])[] = [
  [/Query$/, 'query'],
  [/Options$/, 'options'],
];
const parameterOf = (type: string): string =>
  PARAMETERS.find(([ending]) => ending.test(type))?.[1] ?? 'choice';

/** Writes functions as functions, with a name for each parameter and two spaces a level. */
const readable = (declaration: string): string =>
  declaration
    .replace(/^declare const (\w+): (<.*>)?\((.*)\) => (.*);$/m, 'declare function $1$2($3): $4;')
    .replace(
      /\{[^{}:;]*\}(\??): (\w+)/g,
      (_match, mark: string, type: string) => `${parameterOf(type)}${mark}: ${type}`,
    )
    .replace(/^ +/gm, ({ length }) => ' '.repeat((length % 4) + Math.floor(length / 4) * 2));

/** Returns the schemas by the names of the types that stand for them: `type Market = Read<typeof marketSchema>`. */
function namedSchemas(replies: string, schemas: Schemas): Map<string, z.ZodType> {
  const named = new Map<string, z.ZodType>();
  for (const [, name, schema, member] of replies.matchAll(
    /type (\w+) = (?:Omit<)?(?:Read|z\.infer)<typeof (\w+)>(?:\['(\w+)'\])?/g,
  )) {
    const whole = schemas[schema!];
    if (whole === undefined) throw new Error(`the contract has no ${schema}`);
    const { shape } = whole as z.ZodObject;
    named.set(name!, member === undefined ? whole : (shape[member] as z.ZodType));
  }
  return named;
}

function errorCodes(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning }]) => ` * - \`${code}\` (${status}): ${meaning}`,
  );
  const union = Object.keys(ERRORS).map((code) => `\n  | '${code}'`);
  return `/**\n * The service's error table. Codes are never renamed; there may be new ones.\n *\n${rows.join('\n')}\n */\ntype ErrorCode =${union.join('')};`;
}

type Names = ReadonlyMap<string, z.ZodType>;

function interfaceText(name: string, schema: z.ZodType, named: Names): string {
  const others = new Map([...named].filter(([other]) => other !== name));
  const comment = commentText(schema.description, '');
  return schema instanceof z.ZodObject
    ? `${comment}interface ${name} ${membersText(schema, others, '')}`
    : `${comment}type ${name} = ${typeText(schema, name, others, '')};`;
}

function membersText(object: z.ZodObject, named: Names, indent: string): string {
  if (Object.keys(object.shape).length === 0) return 'Readonly<Record<string, never>>';
  const inner = `${indent}  `;
  const members = Object.entries(object.shape as Record<string, z.ZodType>).map(([name, schema]) => {
    const isOptional = schema instanceof z.ZodOptional;
    const type = typeText(schema, name, named, inner);
    return `${commentText(memberDescription(schema), inner)}${inner}readonly ${name}${isOptional ? '?' : ''}: ${type};`;
  });
  return `{\n${members.join('\n')}\n${indent}}`;
}

/** Descriptions that every amount has. */
const OF_ALL_AMOUNTS = new Set(['exact decimal, not negative', 'exact plain decimal']);

function memberDescription(schema: z.ZodType): string | undefined {
  const description =
    schema.description ??
    (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional
      ? (schema.unwrap() as z.ZodType).description
      : undefined);
  return description === undefined || OF_ALL_AMOUNTS.has(description) ? undefined : description;
}

function commentText(description: string | undefined, indent: string): string {
  if (description === undefined) return '';
  const text = description.charAt(0).toUpperCase() + description.slice(1);
  return `${indent}/** ${text.replaceAll('*/', '* /')}${/[.!?]$/.test(text) ? '' : '.'} */\n`;
}

/** @param member name of the member, which distinguishes amounts from counts */
function typeText(schema: z.ZodType, member: string, named: Names, indent: string): string {
  for (const [name, other] of named) if (other._zod.def === schema._zod.def) return name;
  if (schema instanceof z.ZodNullable)
    return `${typeText(schema.unwrap() as z.ZodType, member, named, indent)} | null`;
  if (schema instanceof z.ZodOptional)
    return `${typeText(schema.unwrap() as z.ZodType, member, named, indent)} | undefined`;
  if (schema instanceof z.ZodArray) return arrayText(schema, member, named, indent);
  if (schema instanceof z.ZodObject) return membersText(schema, named, indent);
  if (schema instanceof z.ZodEnum)
    return schema.options
      .map((one) => JSON.stringify(one))
      .join(' | ')
      .replaceAll('"', "'");
  if (schema instanceof z.ZodLiteral)
    return [...schema.values]
      .map((one) => JSON.stringify(one))
      .join(' | ')
      .replaceAll('"', "'");
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodString) return schema._zod.def === decimalText._zod.def ? 'Amount' : 'string';
  if (schema instanceof z.ZodNumber) return Object.hasOwn(PLAIN_NUMBERS, member) ? 'number' : 'Amount';
  throw new Error(`${member}: there is no type for ${schema.type}`);
}

function arrayText(schema: z.ZodArray, member: string, named: Names, indent: string): string {
  const item = typeText(schema.element as z.ZodType, member, named, indent);
  // A level of an order book: price and size.
  if (member === 'bids' || member === 'asks')
    if (item.startsWith('readonly ')) return 'readonly OrderBookLevel[]';
  return `readonly ${item.includes(' | ') && !item.startsWith('{') ? `(${item})` : item}[]`;
}
