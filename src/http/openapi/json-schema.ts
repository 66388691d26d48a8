/** Converts Zod schemas to the JSON Schemas of a document. */

import { z } from 'zod';

/** A document, or a part of one. */
export type JsonObject = { [key: string]: unknown };

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Settings for request schemas. Zod omits examples and defaults of transformed values, because they could be inputs or
 * outputs. Ours are inputs, as clients send them.
 */
const OF_REQUESTS: z.core.ToJSONSchemaParams = {
  io: 'input',
  override({ zodSchema, jsonSchema }) {
    const { examples, default: given } = z.globalRegistry.get(zodSchema) ?? {};
    if (examples !== undefined) jsonSchema.examples = examples as unknown[];
    if (given !== undefined) jsonSchema.default = given as JsonSchema;
  },
};

export function requestJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, OF_REQUESTS);
  return json;
}

/** Schemas with names in a document, so that each is written once. */
export interface NamedSchemas {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** Returns a reference to a named schema. */
  refTo(schema: z.ZodType): JsonSchema;
}

type Names = ReturnType<typeof z.registry<{ id: string }>>;

/**
 * Names schemas of replies and frames, which the service sends.
 * @param names those that have named themselves already
 */
export const nameReplies = (
  named: Readonly<Record<string, z.ZodType>>,
  names: Names = z.registry(),
): NamedSchemas => nameSchemas(named, names, {});

/** Names schemas of requests, which clients send. */
export const nameRequests = (named: Readonly<Record<string, z.ZodType>>): NamedSchemas =>
  nameSchemas(named, z.registry(), OF_REQUESTS);

function nameSchemas(
  named: Readonly<Record<string, z.ZodType>>,
  registry: Names,
  settings: z.core.ToJSONSchemaParams,
): NamedSchemas {
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { ...settings, uri });
  return {
    schemas: Object.fromEntries(
      Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
    ),
    refTo(schema) {
      const id = registry.get(schema)?.id;
      if (id === undefined) throw new Error('a schema has no name in the document');
      return { $ref: uri(id) };
    },
  };
}
