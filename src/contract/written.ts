/**
 * Types of replies and frames as they are written. A writer that returns one does not compile if a member of its schema
 * is missing or extra.
 */

import type { z } from 'zod';
import type { JsonText } from '../domain/json.ts';
import type { Amount } from './values.ts';

/** A value of a schema in which every amount is an exact literal. A part may be JSON text that is already written. */
export type Written<Schema extends z.ZodType> = WrittenValue<z.infer<Schema>>;

/** A value of a schema that is not written yet, and has no amounts of trading. */
export type Plain<Schema extends z.ZodType> = PlainValue<z.infer<Schema>>;

/** JSON text of a value of a schema. */
export type WrittenText<Schema extends z.ZodType> = JsonText<z.infer<Schema>>;

/** The JSON text of each member, for templates that write an object without building it. */
export type MemberTexts<Schema extends z.ZodType> = { readonly [Name in keyof z.infer<Schema>]-?: string };

type PlainValue<Value> = Value extends string | number | boolean | null
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly PlainValue<Item>[]
    : { readonly [Name in keyof Value]: PlainValue<Value[Name]> };

type WrittenValue<Value> =
  | JsonText<Value>
  | (Value extends Amount
      ? never
      : Value extends string | number | boolean | null
        ? Value
        : Value extends readonly (infer Item)[]
          ? readonly WrittenValue<Item>[]
          : { readonly [Name in keyof Value]: WrittenValue<Exclude<Value[Name], undefined>> });
