/**
 * Validates objects against the Kubernetes API, with validators generated from its OpenAPI document and from the
 * definitions of KEDA and of the Prometheus operator.
 *
 * The validators accept unknown fields, as the schemas do, and the package does not include the schemas. But a
 * validator reads every field that its schema knows. A field that it never reads is one that the API would drop.
 */

import { createRequire } from 'node:module';
import type { Resource } from './kustomize.ts';

const require = createRequire(import.meta.url);
const PACKAGES: Readonly<Record<string, string>> = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

type Model = { prototype: { validate(this: object): void } } | undefined;

function modelOf({ apiVersion, kind }: Resource): Model {
  const [group = ''] = apiVersion.split('/');
  const models = require(`${PACKAGES[group] ?? 'kubernetes-models'}/${apiVersion}`) as Record<string, Model>;
  return models[kind];
}

/** Wraps values so that reading a field records it in `seen`. */
function watched(value: unknown, seen: Map<object, Set<string>>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fields = seen.get(value) ?? new Set();
  seen.set(value, fields);
  return new Proxy(value, {
    get(target, field, receiver) {
      if (typeof field === 'string') fields.add(field);
      return watched(Reflect.get(target, field, receiver), seen);
    },
  });
}

function* unseen(value: unknown, seen: Map<object, Set<string>>, path: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [field, inner] of Object.entries(value)) {
    if (!seen.get(value)?.has(field)) yield `${path}/${field}: the API knows no such field`;
    else yield* unseen(inner, seen, `${path}/${field}`);
  }
}

/** @returns the problems of an object, or nothing */
export function problemsOf(object: Resource): string[] {
  const model = modelOf(object);
  if (!model) return [`the API knows no ${object.apiVersion} ${object.kind}`];
  const seen = new Map<object, Set<string>>();
  try {
    model.prototype.validate.call(watched(object, seen) as object);
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unseen(object, seen, '')];
}
