/**
 * Implements the part of kustomize that `k8s/` uses, so that tests need no kustomize. If kubectl is installed, a test
 * compares both. Names of generated ConfigMaps have no hash here.
 */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const K8S = fileURLToPath(new URL('../../../k8s/', import.meta.url));

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Resource {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the schemas of the API say what is here; see api-schema.ts.
  [field: string]: any;
}

interface Generator {
  name: string;
  behavior?: 'merge';
  literals?: string[];
  files?: string[];
  options?: { labels?: Record<string, string> };
}
interface Target {
  group?: string;
  kind?: string;
  labelSelector?: string;
}
interface Kustomization {
  namespace?: string;
  resources?: string[];
  components?: string[];
  configMapGenerator?: Generator[];
  patches?: { path: string; target?: Target }[];
  images?: { name: string; newName?: string; newTag?: string }[];
}

/**
 * Returns the documents of a YAML file.
 * @throws on any warning of the parser
 */
export function readYaml(path: string): unknown[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map((document) => {
    for (const problem of [...document.errors, ...document.warnings]) throw problem;
    return document.toJS();
  });
}

/** Returns everything that `kubectl apply -k folder` would apply. */
export const build = (folder: string): Resource[] => apply(folder, []);

export type Render = (folder: string) => Resource[];

/** Renders an overlay, and adds components to it. */
export function withComponents(render: Render, overlay: string, ...components: string[]): Resource[] {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-overlay-'));
  const [base, ...added] = [`overlays/${overlay}`, ...components.map((name) => `components/${name}`)].map(
    (path) => relative(folder, `${K8S}${path}`),
  );
  writeFileSync(
    join(folder, 'kustomization.yaml'),
    `namespace: redbook\nresources: [${base}]\ncomponents: [${added.join()}]\n`,
  );
  const rendered = render(folder);
  rmSync(folder, { recursive: true });
  return rendered;
}

/** @param before the objects that a component changes */
function apply(folder: string, before: readonly Resource[]): Resource[] {
  const [kustomization] = readYaml(join(folder, 'kustomization.yaml')) as [Kustomization];
  const {
    resources = [],
    components = [],
    configMapGenerator = [],
    patches = [],
    images = [],
  } = kustomization;
  let built = [...before];
  for (const path of resources.map((name) => join(folder, name))) {
    built.push(...(statSync(path).isDirectory() ? build(path) : (readYaml(path) as Resource[])));
  }
  for (const generator of configMapGenerator) generate(built, generator, folder);
  for (const path of components) built = apply(join(folder, path), built);
  for (const { path, target, patch } of patches.flatMap(({ path, target }) =>
    (readYaml(join(folder, path)) as Resource[]).map((patch) => ({ path, target, patch })),
  )) {
    const isMeant = (one: Resource): boolean =>
      target ? fits(one, target) : one.kind === patch.kind && one.metadata.name === patch.metadata.name;
    if (!built.some(isMeant)) throw new Error(`${join(folder, path)} patches nothing`);
    built = built.flatMap((one) =>
      !isMeant(one) ? [one] : patch.$patch === 'delete' ? [] : [patched(one, patch)],
    );
  }
  for (const container of built.flatMap(containersOf)) {
    const [name, tag] = container.image.split(':') as [string, string?];
    const image = images.find((one) => one.name === name);
    if (image) container.image = `${image.newName ?? name}:${image.newTag ?? tag}`;
  }
  const { namespace } = kustomization;
  if (namespace) for (const one of built) one.metadata.namespace = namespace;
  return built;
}

function generate(
  built: Resource[],
  { name, behavior, literals = [], files = [], options }: Generator,
  folder: string,
): void {
  const data = Object.fromEntries([
    ...literals.map((literal) => [
      literal.slice(0, literal.indexOf('=')),
      literal.slice(literal.indexOf('=') + 1),
    ]),
    ...files.map((file) => [basename(file), readFileSync(join(folder, file), 'utf8')]),
  ]);
  if (behavior === 'merge') {
    Object.assign(built.find((one) => one.kind === 'ConfigMap' && one.metadata.name === name)!.data, data);
    return;
  }
  built.push({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...(options?.labels && { labels: options.labels }) },
    data,
  });
}

function fits({ apiVersion, kind, metadata }: Resource, target: Target): boolean {
  const [label, value] = target.labelSelector?.split('=') ?? [];
  return (
    (target.group === undefined || apiVersion.startsWith(`${target.group}/`)) &&
    (target.kind === undefined || kind === target.kind) &&
    (label === undefined || metadata.labels?.[label] === value)
  );
}

/**
 * Applies a strategic merge patch: merges objects by field and lists of named objects by name, those of the patch first,
 * and replaces other lists. The name stays.
 */
function patched(one: Resource, { apiVersion: _, kind: __, metadata, ...patch }: Resource): Resource {
  const { labels, annotations } = metadata;
  const change = { ...patch, metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } };
  return merge(one as unknown as Json, change as unknown as Json) as unknown as Resource;
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNamed = (value: Json): value is { name: string } => isObject(value) && typeof value.name === 'string';

function merge(old: Json | undefined, patch: Json): Json {
  if (isObject(old) && isObject(patch)) {
    const merged = Object.entries(patch).map(([key, value]) => [key, merge(old[key], value)] as const);
    const all = Object.entries({ ...old, ...Object.fromEntries(merged) });
    // A patch removes a field by null.
    return Object.fromEntries(all.filter(([, value]) => value !== null));
  }
  if (Array.isArray(old) && Array.isArray(patch) && patch.every(isNamed) && old.every(isNamed)) {
    const changed = patch
      .filter((change) => !('$patch' in change))
      .map((change) =>
        merge(old.find(({ name }) => name === change.name) as Json | undefined, change as Json),
      );
    return [...changed, ...old.filter(({ name }) => !patch.some((change) => change.name === name))];
  }
  return structuredClone(patch);
}

export interface Container {
  name: string;
  image: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  [field: string]: any;
}

/** Returns the pod template of any workload. A CronJob has it in its job template. */
export const templateOf = (one: Resource): Resource['spec'] | undefined =>
  one.kind === 'Pod' ? one : (one.spec?.jobTemplate?.spec.template ?? one.spec?.template);

export function containersOf(one: Resource): Container[] {
  const { containers = [], initContainers = [] } = templateOf(one)?.spec ?? {};
  return [...containers, ...initContainers];
}
