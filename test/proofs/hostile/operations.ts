/** The operations of the API, read from its OpenAPI document, so that a new route is covered by itself. */

import type { Node } from '../../support/contract.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
}

export interface Operation {
  /** Method and path of the document, such as `GET /v1/orders/{orderId}`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Members of a body, with an example or a value of an enumeration where the document has one. */
  readonly members: ReadonlyMap<string, readonly unknown[]>;
  /** Bodies that the document shows as examples. */
  readonly examples: readonly object[];
  readonly hasBody: boolean;
  readonly needsSession: boolean;
}

export function operationsOf(document: Node): Operation[] {
  return Object.entries<Node>(document.paths).flatMap(([path, item]) =>
    Object.entries<Node>(item).map(([method, operation]) => {
      const content = operation.requestBody?.content['application/json'];
      const examples = Object.values<Node>(content?.examples ?? {}).map(({ value }) => value);
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: operation.parameters.map(({ name, in: place }: Node) => ({ name, in: place })),
        members: membersOf(document, content?.schema),
        examples,
        hasBody: content !== undefined,
        needsSession: operation.security.length > 0,
      };
    }),
  );
}

function membersOf(document: Node, schema: Node): Map<string, readonly unknown[]> {
  const members = new Map<string, readonly unknown[]>();
  const visit = (node: Node): void => {
    if (node === undefined) return;
    if (node.$ref !== undefined) visit(document.components.schemas[node.$ref.split('/').at(-1)]);
    for (const part of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])]) visit(part);
    for (const [name, property] of Object.entries<Node>(node.properties ?? {}))
      members.set(name, [...new Set([...(members.get(name) ?? []), ...valuesOf(property)])]);
  };
  visit(schema);
  return members;
}

const valuesOf = (schema: Node): unknown[] => [
  ...(schema.examples ?? []),
  ...(schema.enum ?? []),
  ...(schema.const === undefined ? [] : [schema.const]),
];
