/**
 * Calls operations with the key that this page was opened with. The document of the service names their routes and
 * fields. Nothing is kept outside of the memory of this page.
 */

import { signal } from '@preact/signals';
import type { Plain } from '../../contract/written.ts';
import type { Operation } from '../../operator/operation.ts';
import type { OwnKey } from './operations.ts';

/** Null until the operator has signed in. It ends with the page. */
export const key = signal<string | null>(null);

/** Forgets the key, and with the page whatever it showed and was asked for. */
export function signOut(): void {
  key.value = null;
  location.reload();
}

/** The key that is signed in, as the service knows it. */
export const ownKey = signal<OwnKey | null>(null);

/** An answer that is an error. The message is a sentence. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Longest wait for an answer. */
const PATIENCE_MS = 15_000;

/** A part of the path of an act, or a member of its body. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly isRequired: boolean;
  /** Absent: any text. */
  readonly choices?: readonly string[];
  readonly isSwitch: boolean;
  /** The word null is a value of its own. */
  readonly isNullable: boolean;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** Parts of the path. */
  readonly parts: readonly Field[];
  /** Members of the body; null if one is a list, which no form can ask for. */
  readonly members: readonly Field[] | null;
}

interface Member {
  readonly description?: string;
  readonly examples?: readonly string[];
  readonly enum?: readonly string[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Member[];
}

interface Documented {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: {
          readonly properties: Readonly<Record<string, Member>>;
          readonly required?: readonly string[];
        };
      };
    };
  };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
}

/** Routes by the id of their operation. */
const routes = new Map<string, Route>();

/** @throws Refused */
export async function readRoutes(): Promise<void> {
  const { paths } = await answerTo<OpenApi>('operator/v1/openapi.json', {});
  for (const [path, methods] of Object.entries(paths))
    for (const [method, documented] of Object.entries(methods)) {
      const { operationId, summary, parameters = [], requestBody } = documented;
      const { properties = {}, required = [] } = requestBody?.content['application/json'].schema ?? {};
      const members = Object.entries(properties);
      routes.set(operationId, {
        method: method.toUpperCase(),
        path,
        summary,
        // Their descriptions are of an encoded path, which `ask` writes.
        parts: parameters.filter((one) => one.in === 'path').map(({ name }) => fieldOf(name, true, {})),
        members: members.some(([, { type }]) => type === 'array')
          ? null
          : members.map(([name, member]) => fieldOf(name, required.includes(name), member)),
      });
    }
}

function fieldOf(name: string, isRequired: boolean, member: Member): Field {
  const { description, examples, anyOf = [] } = member;
  const example = examples === undefined ? '' : `, like ${examples[0]}`;
  const types = [member, ...anyOf].flatMap(({ type = [] }) => type);
  const isSwitch = types.includes('boolean');
  const choices = isSwitch ? ['true', 'false'] : member.enum;
  return {
    name,
    label: description === undefined ? name : `${capitalised(description)}${example}`,
    isRequired,
    ...(choices !== undefined && { choices }),
    isSwitch,
    isNullable: types.includes('null'),
  };
}

/** Returns the members of the body of an act, the reason among them. */
export const membersOfAct = (id: string): readonly Field[] => routeOf(id).members ?? [];

/** Returns the value of a field as it is sent. Decimals stay text, so that they stay exact. */
export function sentValue({ isSwitch, isNullable }: Field, text: string): unknown {
  if (isSwitch) return text === 'true';
  return isNullable && text === 'null' ? null : text;
}

export interface ActOfService {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** Parts of the path, and members of the body without the reason. */
  readonly fields: readonly Field[];
}

/** Returns the acts that a form can ask for. */
export const actsOfService = (): ActOfService[] =>
  [...routes].flatMap(([id, { method, summary, parts, members }]) => {
    if (method !== 'POST' || members === null) return [];
    const title = capitalised(id.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
    return [{ id, title, summary, fields: [...parts, ...members.filter(({ name }) => name !== 'reason')] }];
  });

const routeOf = (id: string): Route => {
  const route = routes.get(id);
  if (route === undefined) throw new Error(`the service has no operation ${id}`);
  return route;
};

/** Parts of the path of an operation, and members of its query or body. */
export type Given<Asked extends Operation> = {
  readonly [Name in keyof Parameters<Asked['run']>[1]]?: unknown;
};

export type Answer<Asked extends Operation> = Plain<Asked['reply']>;

/** Returns what `fetch` asks an operation by; the address is relative to the page. */
export function requestOf(
  id: string,
  given: object,
  as = key.value ?? '',
): { readonly url: string; readonly request: RequestInit } {
  const { method, path } = routeOf(id);
  const left = new Map<string, unknown>(Object.entries(given));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const part = encodeURIComponent(String(left.get(name)));
    left.delete(name);
    return part;
  });
  const query = new URLSearchParams([...left].map(([name, value]) => [name, String(value)]));
  const url = method === 'GET' && left.size > 0 ? `${filled}?${query}` : filled;
  return {
    url: url.slice(1),
    request: {
      method,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(Object.fromEntries(left)) }),
    },
  };
}

/**
 * Carries out an operation.
 * @param as another key than the one that is signed in
 * @throws Refused; its status is 0 when no answer came, and then nobody knows if the request was carried out
 */
export async function ask<Asked extends Operation>(
  id: Asked['id'],
  given: Given<Asked> & { readonly reason?: string },
  as = key.value ?? '',
): Promise<Answer<Asked>> {
  const { url, request } = requestOf(id, given, as);
  return answerTo(url, request);
}

/** @param url relative to the page */
async function answerTo<Result>(url: string, request: RequestInit): Promise<Result> {
  let response: Response;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch {
    throw new Refused(0, 'No answer came. Look what became of it before you repeat it.');
  }
  if (!response.ok) throw await refusedBy(response);
  return (await response.json().catch(() => ({}))) as Result;
}

/** Reads an answer that is an error. A key that is revoked is forgotten. */
export async function refusedBy(response: Response): Promise<Refused> {
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 && key.value !== null) signOut();
  return new Refused(response.status, `${capitalised(String(answer.error ?? `status ${response.status}`))}.`);
}

const capitalised = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
