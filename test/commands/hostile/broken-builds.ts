/** Faults that are planted in a copy of the sources. A run that does not report each of them proves nothing. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyChange, type Change, copyRelease } from '../campaign/release.ts';
import { type Report, runHostile } from './hostile.ts';
import { startTarget } from './target.ts';

export interface PlantedFault {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The promise that must be reported as broken, and a text of the report. */
  readonly reported: readonly [check: string, kind: string];
  /** True if a process of the streams has the fault, not one of the API. */
  readonly isOfStreams?: true;
}

const fault = (
  name: string,
  reported: PlantedFault['reported'],
  ...changes: readonly (readonly [file: string, from: string, to: string])[]
): PlantedFault => ({
  name,
  reported,
  changes: changes.map(([file, from, to]) => ({ file, from, to })),
});

const ENDPOINTS = 'src/http/endpoints';

export const FAULTS: readonly PlantedFault[] = [
  fault(
    'a handler throws',
    ['no answer is 5xx', 'POST /v1/orders/cancel-after'],
    [
      `${ENDPOINTS}/post-cancel-after.ts`,
      'const timeoutMs = toInteger(checked(schema, body).timeoutMs);',
      `const timeoutMs = toInteger(checked(schema, body).timeoutMs);
    if (timeoutMs >= 0) throw new TypeError('planted');`,
    ],
  ),
  fault(
    'an error has another shape',
    ['errors have the documented shape', 'has another shape'],
    [
      'src/http/replies/error.ts',
      'json<typeof errorSchema>({ error: message, code }, status);',
      "json<any>(code === 'VALIDATION_ERROR' ? { message, code } : { error: message, code }, status);",
    ],
  ),
  fault(
    'the session token is logged',
    ['no log holds a token, a signature or a key', 'api'],
    [
      'src/http/middleware/observe.ts',
      'url: loggedUrl(url), status, seconds }',
      'url: loggedUrl(url), status, seconds, authorization: this.req.headers.authorization }',
    ],
  ),
  fault(
    'a sign-in message may name any host',
    ['no invalid login opens a session', 'signed: domain'],
    ['src/auth/siwe.ts', "if (!hosts.has(host)) throw new Refusal('domain_mismatch');", ''],
  ),
  fault(
    'a signature of anybody is accepted for typed data',
    ['no invalid login opens a session', 'eip712: '],
    [
      'src/auth/challenge.ts',
      'if (recoverSigner(digestOf(typedData, typedData.domain), signature) !== wallet) {',
      'if (recoverSigner(digestOf(typedData, typedData.domain), signature) === undefined) {',
    ],
  ),
  fault(
    'a token without an issuer is accepted',
    ['no forged token is accepted', 'iss'],
    [
      'src/auth/session.ts',
      "{ algorithms: ['HS256'], issuer, clockTimestamp: nowSeconds }",
      "{ algorithms: ['HS256'], clockTimestamp: nowSeconds }",
    ],
  ),
  fault(
    'an unknown order is told apart from one of another wallet',
    ["another wallet's ids give nothing away", '{orderId}'],
    [
      `${ENDPOINTS}/get-order.ts`,
      "if (found === undefined) throw new Refusal('NOT_FOUND', 'the wallet has no such order');",
      `if (found === undefined) {
    const { sequence } = await services.engine.snapshots.state();
    const isPlaced = Number.parseInt((orderId ?? '').slice(-12), 16) <= sequence;
    throw new Refusal('NOT_FOUND', isPlaced ? 'the wallet has no such order' : 'no order has this id');
  }`,
    ],
  ),
  fault(
    'each request is kept',
    ['memory stays flat', 'api'],
    [
      'src/http/middleware/observe.ts',
      'metrics.beginRequest();',
      'metrics.beginRequest();\n    KEPT.push(Buffer.alloc(65_536, 1));',
    ],
    [
      'src/http/middleware/observe.ts',
      'const CLIENT_CLOSED = 499;',
      'const CLIENT_CLOSED = 499;\nconst KEPT: Buffer[] = [];',
    ],
  ),
  {
    ...fault(
      'a bad frame ends the process',
      ['no process ends', 'stream'],
      ['src/stream/index.ts', "ws.on('error', () => undefined);", ''],
    ),
    isOfStreams: true,
  },
];

/** A run that is long enough for each fault. */
export const SHORT = { requests: 1_200, logins: 90, tokens: 60, rounds: 4, held: 30, operates: false };

export interface Proof {
  /** Faults of the build that were not reported. */
  readonly missed: readonly string[];
  /** Names of the checks that reported the fault. */
  readonly checks: readonly string[];
}

/** @returns which of the planted faults a report does not have */
export function proofOf(faults: readonly PlantedFault[], { findings }: Report): Proof {
  const missed = faults.filter(
    ({ reported: [check, kind] }) =>
      !findings.some((found) => found.check === check && found.kind.includes(kind)),
  );
  return {
    missed: missed.map(({ name }) => name),
    checks: findings.map(({ check, kind }) => `${check} (${kind})`),
  };
}

/** Makes a copy of the sources with the faults. The caller removes it. */
export function plantedRelease(faults: readonly PlantedFault[]): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-broken-'));
  copyRelease(folder);
  for (const { changes } of faults) for (const change of changes) applyChange(folder, change);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

interface ProofOptions {
  readonly folder: string;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/** Runs the short form on a cluster of a build with the faults. */
export async function prove(
  faults: readonly PlantedFault[],
  { folder, seed, say }: ProofOptions,
): Promise<Proof> {
  const release = plantedRelease(faults);
  try {
    const target = await startTarget({
      folder,
      replicas: { api: 1, stream: 1, settlement: 0, snapshot: 1 },
      releaseOf: ({ role }) => (role === 'api' || role === 'stream' ? release.folder : undefined),
    });
    try {
      return proofOf(faults, await runHostile({ ...SHORT, target, seed, say }));
    } finally {
      await target.stop();
    }
  } finally {
    release.remove();
  }
}
