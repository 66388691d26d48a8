/** Signs checkpoints, and reads those that were kept elsewhere. */

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { OperatorRefusal } from '../domain/errors.ts';
import type { LedgerCheckpoint } from '../ledger/index.ts';

interface Signature {
  /** DER of the Ed25519 key in base64. */
  readonly publicKey: string;
  /** Signature of the JSON of all members before it, in base64. */
  readonly signature: string;
}

export type Checkpoint = LedgerCheckpoint & Partial<Signature>;

const isEd25519 = (key: KeyObject): boolean => key.asymmetricKeyType === 'ed25519';

function readKey(pem: string, read: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read(pem);
  } catch (cause) {
    throw new OperatorRefusal('INVALID_KEY', `the key cannot be read: ${(cause as Error).message}`);
  }
  if (!isEd25519(key)) throw new OperatorRefusal('INVALID_KEY', 'the key must be an Ed25519 key in PEM');
  return key;
}

const publicText = (key: KeyObject): string => key.export({ type: 'spki', format: 'der' }).toString('base64');

/** Returns the checkpoint as one line of JSON. @param pem private key; unsigned without one */
export function writeCheckpoint(facts: LedgerCheckpoint, pem?: string): string {
  if (pem === undefined) return JSON.stringify(facts);
  const key = readKey(pem, createPrivateKey);
  const signed = { ...facts, publicKey: publicText(createPublicKey(key)) };
  const signature = sign(null, Buffer.from(JSON.stringify(signed)), key).toString('base64');
  return JSON.stringify({ ...signed, signature });
}

const refused = (line: number, why: string): OperatorRefusal =>
  new OperatorRefusal('INVALID_CHECKPOINT', `checkpoint in line ${line}: ${why}`);

/**
 * Reads checkpoints, one a line.
 * @param pem public key (or the private one) that must have signed each of them; without one, a signature must fit the key
 *   that stands beside it
 * @throws OperatorRefusal INVALID_CHECKPOINT
 */
export function readCheckpoints(text: string, pem?: string): Checkpoint[] {
  const expected = pem === undefined ? undefined : publicText(readKey(pem, createPublicKey));
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new OperatorRefusal('INVALID_CHECKPOINT', 'the file has no checkpoint');
  return lines.map((line, at) => readOne(line, at + 1, expected));
}

function readOne(line: string, number: number, expected: string | undefined): Checkpoint {
  let checkpoint: Checkpoint;
  try {
    checkpoint = JSON.parse(line);
  } catch {
    throw refused(number, 'it is no line of JSON');
  }
  if (!Number.isSafeInteger(checkpoint?.sequence) || typeof checkpoint.head !== 'string')
    throw refused(number, 'it has no sequence and head');
  const { signature, ...signed } = checkpoint;
  if (expected !== undefined && signed.publicKey !== expected)
    throw refused(number, 'it is not signed by the given key');
  if (signed.publicKey === undefined) return checkpoint;
  const key = createPublicKey({ key: Buffer.from(signed.publicKey, 'base64'), format: 'der', type: 'spki' });
  const isSigned =
    isEd25519(key) &&
    verify(null, Buffer.from(JSON.stringify(signed)), key, Buffer.from(signature ?? '', 'base64'));
  if (!isSigned) throw refused(number, 'its signature is wrong');
  return checkpoint;
}
