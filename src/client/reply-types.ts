/**
 * Writes the types that follow from the contract's schemas as a reader of the package wants them. They are interfaces
 * with the descriptions of the schemas, and the error table with its meanings.
 */

import { z } from 'zod';
import { decimalText } from '../contract/values.ts';
import { ERRORS } from '../domain/errors.ts';
import { PLAIN_NUMBERS } from './exact-json.ts';

/** A type that stands for a schema, such as `type Market = Read<typeof marketSchema>`, with its comment. */
const DERIVED =
  /(?:\/\*\*[^\n]*\*\/\n)?export type (\w+) = (?:Omit<)?(?:Read|z\.infer)<typeof (\w+)>(?:\['(\w+)'\])?[^;{]*(?:\{[^}]*\})?;/g;

/**
 * @param declared declarations of `replies.ts` as the compiler writes them
 * @param schemas schemas by the names that the contract exports them under
 */
export function replyTypes(declared: string, schemas: Readonly<Record<string, z.ZodType>>): string {
  const named = new Map<string, z.ZodType>();
  for (const [, name, schema, member] of declared.matchAll(DERIVED)) {
    const whole = schemas[schema!];
    if (whole === undefined) throw new Error(`the contract has no ${schema}`);
    named.set(name!, member === undefined ? whole : ((whole as z.ZodObject).shape[member] as z.ZodType));
  }
  return declared.replace(DERIVED, (_all, name: string) => interfaceText(name, named.get(name)!, named));
}

/** Declares the codes of the error table, each with its status and meaning. */
export function errorCodes(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning }]) => ` * - \`${code}\` (${status}): ${meaning}`,
  );
  const union = Object.keys(ERRORS).map((code) => `\n  | '${code}'`);
  return `/**\n * The service's error table. Codes are never renamed; there may be new ones.\n *\n${rows.join('\n')}\n */\nexport type ErrorCode =${union.join('')};\n`;
}

type Names = ReadonlyMap<string, z.ZodType>;

function interfaceText(name: string, schema: z.ZodType, named: Names): string {
  const others = new Map([...named].filter(([other]) => other !== name));
  const comment = commentText(schema.description, '');
  return schema instanceof z.ZodObject
    ? `${comment}export interface ${name} ${membersText(schema, others, '')}`
    : `${comment}export type ${name} = ${typeText(schema, name, others, '')};`;
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
  if (schema instanceof z.ZodEnum) return unionText(schema.options);
  if (schema instanceof z.ZodLiteral) return unionText([...schema.values]);
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodString) return schema._zod.def === decimalText._zod.def ? 'Amount' : 'string';
  if (schema instanceof z.ZodNumber) return Object.hasOwn(PLAIN_NUMBERS, member) ? 'number' : 'Amount';
  throw new Error(`${member}: there is no type for ${schema.type}`);
}

const unionText = (values: readonly unknown[]): string =>
  values
    .map((one) => JSON.stringify(one))
    .join(' | ')
    .replaceAll('"', "'");

function arrayText(schema: z.ZodArray, member: string, named: Names, indent: string): string {
  const item = typeText(schema.element as z.ZodType, member, named, indent);
  // A level of an order book: price and size.
  if (member === 'bids' || member === 'asks')
    if (item.startsWith('readonly ')) return 'readonly OrderBookLevel[]';
  return `readonly ${item.includes(' | ') && !item.startsWith('{') ? `(${item})` : item}[]`;
}
