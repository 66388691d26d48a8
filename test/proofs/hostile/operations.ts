/** The operations of the API, read from its OpenAPI document, so that a new route is covered by itself. */

import type { Node } from '../../support/contract.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly isRequired: boolean;
  readonly schema: Node;
}

export interface Operation {
  /** Method and path of the document, such as `GET /v1/orders/{orderId}`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Schema of the body without references; undefined if the operation takes none. */
  readonly body: Node | undefined;
  /** Schemas of the members of a body, by name, in whatever form of the body. */
  readonly members: ReadonlyMap<string, Node>;
  /** Bodies that the document shows as examples. */
  readonly examples: readonly object[];
  readonly needsSession: boolean;
}

export function operationsOf(document: Node): Operation[] {
  return Object.entries<Node>(document.paths).flatMap(([path, item]) =>
    Object.entries<Node>(item).map(([method, operation]) => {
      const content = operation.requestBody?.content['application/json'];
      const examples = Object.values<Node>(content?.examples ?? {}).map(({ value }) => value);
      const body = content === undefined ? undefined : resolved(document, content.schema);
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: operation.parameters.map(({ name, in: place, required = false, schema }: Node) => ({
          name,
          in: place,
          isRequired: required,
          schema: resolved(document, schema),
        })),
        body,
        members: membersOf(body),
        examples,
        needsSession: operation.security.length > 0,
      };
    }),
  );
}

/** Returns a schema with what its references name in their place. */
function resolved(document: Node, node: Node): Node {
  if (Array.isArray(node)) return node.map((one) => resolved(document, one));
  if (typeof node !== 'object' || node === null) return node;
  if (node.$ref !== undefined)
    return resolved(document, document.components.schemas[node.$ref.split('/').at(-1)]);
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolved(document, value)]));
}

export const formsOf = ({ anyOf, oneOf }: Node): readonly Node[] => anyOf ?? oneOf ?? [];

function membersOf(body: Node | undefined): Map<string, Node> {
  const members = new Map<string, Node>();
  const visit = (node: Node): void => {
    for (const form of formsOf(node)) visit(form);
    for (const [name, property] of Object.entries<Node>(node.properties ?? {})) members.set(name, property);
  };
  if (body !== undefined) visit(body);
  return members;
}
