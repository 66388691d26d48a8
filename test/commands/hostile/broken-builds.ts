/** Faults that are planted in a copy of the sources. A run that does not report each of them proves nothing. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyChange, type Change, copyRelease } from '../campaign/release.ts';
import { type Report, runHostile } from './hostile.ts';
import { startTarget } from './target.ts';

interface PlantedFault {
  readonly name: string;
  readonly changes: readonly Change[];
  /** The promise that must be reported as broken, and a text of the report. */
  readonly reported: readonly [check: string, kind: string];
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
    const { sequence } = await services.engine.reads.state();
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
  fault(
    'a bad frame ends the process',
    ['no process ends', 'stream'],
    ['src/stream/index.ts', "ws.on('error', () => undefined);", ''],
  ),
];

/** A run that is long enough for each fault. */
const SHORT = { requests: 1_200, logins: 90, tokens: 60, rounds: 4, held: 30, operates: false };

/** @returns the reports of the promise that the planted fault breaks; none if the run missed the fault */
const reportsOf = ({ reported: [check, kind] }: PlantedFault, { findings }: Report): string[] =>
  findings.filter((found) => found.check === check && found.kind.includes(kind)).map((found) => found.kind);

/** Makes a copy of the sources with the fault. The caller removes it. */
function plantedRelease({ changes }: PlantedFault): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-broken-'));
  copyRelease(folder);
  for (const change of changes) applyChange(folder, change);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

interface ProofOptions {
  readonly folder: string;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/**
 * Runs the short form on a cluster of a build with the fault. The cluster has no settlement, so other promises break too.
 * @returns the reports of the promise that the fault breaks; none if the run missed the fault
 */
export async function prove(fault: PlantedFault, { folder, seed, say }: ProofOptions): Promise<string[]> {
  const release = plantedRelease(fault);
  try {
    const target = await startTarget({
      folder,
      replicas: { api: 1, stream: 1, settlement: 0, snapshot: 1 },
      releaseOf: ({ role }) => (role === 'api' || role === 'stream' ? release.folder : undefined),
    });
    try {
      return reportsOf(fault, await runHostile({ ...SHORT, target, seed, say }));
    } finally {
      await target.stop();
    }
  } finally {
    release.remove();
  }
}
