/** Zod schemas as the JSON Schemas of a document. */

import { z } from 'zod';

/** A document, or a part of one. */
export type Part = { [key: string]: unknown };

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * What a request must be. Zod leaves examples and defaults out where values are transformed, since it cannot tell
 * from which side they are; ours are what clients send.
 */
export function requestJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      const { examples, default: given } = z.globalRegistry.get(zodSchema) ?? {};
      if (examples !== undefined) jsonSchema.examples = examples as unknown[];
      if (given !== undefined) jsonSchema.default = given as JsonSchema;
    },
  });
  return json;
}

/** Schemas that a document gives names to, so that each is written once. */
export interface NamedSchemas {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** A reference to one of them. */
  refTo(schema: z.ZodType): JsonSchema;
}

export function nameSchemas(named: Readonly<Record<string, z.ZodType>>): NamedSchemas {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { uri });
  return {
    schemas: Object.fromEntries(
      Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
    ),
    refTo(schema) {
      const id = registry.get(schema)?.id;
      if (id === undefined) throw new Error('a reply has no name in the document');
      return { $ref: uri(id) };
    },
  };
}
