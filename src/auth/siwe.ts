/**
 * Sign-in with an EIP-4361 message: docs/api.md 4.3, 4.4 and 7.2.
 *
 * The contract checks five things and ignores the rest of the message. siwe's parser enforces the whole grammar. It
 * rejects lower-case addresses, other versions, odd URIs and missing lines, which the contract accepts. So this file
 * parses the message line by line. It uses siwe only to check that a timestamp names an existing day. Tests compare
 * both parsers.
 */

import { isValidISO8601Date } from 'siwe';
import { Refusal } from '../domain/errors.ts';
import type { Challenges } from './challenges.ts';
import type { Nonces } from './nonce.ts';
import { recoverMessageSigner, signatureFault } from './signature.ts';

/** Parts of a message that are checked. */
export interface SiweMessage {
  /** host[:port] as written, without a scheme. */
  readonly host: string;
  /** Line 2 as written. */
  readonly address: string;
  readonly nonce: string | undefined;
  /** Unix milliseconds; undefined if the line is missing. */
  readonly expiresAtMs: number | undefined;
}

interface SiweLogin {
  /** Lower case. */
  readonly wallet: string;
  readonly message: string;
  readonly signature: string;
}

/**
 * Consumes the nonce if the login passes all five checks. Otherwise throws the refusal of the first failed check. The
 * signature is checked before any line is parsed, so `malformed_message` comes second. The nonce is checked before the
 * expiration time, but consumed only if both are valid.
 * @param hosts names allowed in line 1, in lower case. The comparison is case-sensitive: browsers write hosts in lower
 *   case, and case folding would admit look-alikes (the Kelvin sign folds to k).
 */
export async function checkSiweLogin(
  challenges: Challenges,
  nonces: Nonces,
  hosts: ReadonlySet<string>,
  login: SiweLogin,
  nowMs: number,
): Promise<void> {
  const { wallet } = login;
  const fault = signatureFault(login.signature);
  if (fault !== undefined) throw new Refusal('signature_mismatch', `signature: ${fault}`);
  const signer = recoverMessageSigner(login.message, login.signature);
  if (signer !== wallet) throw new Refusal('signature_mismatch');
  const { host, address, nonce, expiresAtMs } = readSiweMessage(login.message);
  if (!hosts.has(host)) throw new Refusal('domain_mismatch');
  if (address.toLowerCase() !== wallet) throw new Refusal('address_mismatch');
  if (nonce === undefined) throw new Refusal('nonce_missing');

  const hasPassed = expiresAtMs !== undefined && expiresAtMs <= nowMs;
  const judge = hasPassed ? challenges.look : challenges.consume;
  if (!(await judge('siwe', wallet, nonce)))
    throw new Refusal(nonces.hasExpired(nonce, wallet, nowMs) ? 'nonce_expired' : 'nonce_invalid');
  if (hasPassed) throw new Refusal('message_expired');
}

/** Line 1: an optional scheme, and the host. */
const FIRST_LINE =
  /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/)?(\S+) wants you to sign in with your Ethereum account:$/;

/** Labels in the order of EIP-4361. */
const LABELS = [
  'URI',
  'Version',
  'Chain ID',
  'Nonce',
  'Issued At',
  'Expiration Time',
  'Not Before',
  'Request ID',
  'Resources',
] as const;
type Label = (typeof LABELS)[number];

/**
 * Parses a message. Throws `malformed_message` if it does not have the layout of EIP-4361, or if its expiration time is
 * invalid. The layout fixes the place of every line, so that text from a stranger, such as the statement, cannot pass
 * for the nonce. Unchecked lines may be missing, blank or have any content.
 */
export function readSiweMessage(text: string): SiweMessage {
  if (text.includes('\r')) throw malformed('lines must be separated by a single LF');
  const lines = text.split('\n');
  const host = FIRST_LINE.exec(lines[0] ?? '')?.[1];
  if (host === undefined) throw malformed('line 1 does not name a host that wants you to sign in');
  if (lines[2] !== '') throw malformed('line 3 must be blank');
  if (lines.at(-1) === '') throw malformed('the message must not end in a line break');
  const hasStatement = lines[3] !== '';
  if (hasStatement && lines[4] !== '')
    throw malformed('the statement must be one line, with a blank one after it');

  const fields = readFields(lines.slice(hasStatement ? 5 : 4));
  const expiration = fields.get('Expiration Time');
  return {
    host,
    address: lines[1] ?? '',
    nonce: fields.get('Nonce'),
    expiresAtMs: expiration === undefined ? undefined : readTimeMs(expiration),
  };
}

/** Returns the value after each label. Each label may occur once, in order, with resources last. */
function readFields(lines: readonly string[]): Map<Label, string> {
  const fields = new Map<Label, string>();
  let next = 0;
  for (const line of lines) {
    const isResource = fields.has('Resources') && line.startsWith('- ');
    if (isResource || line === '') continue;
    const found = LABELS.findIndex((label, place) => place >= next && line.startsWith(`${label}:`));
    const label = LABELS[found];
    if (label === undefined)
      throw malformed('a line has no label of EIP-4361, or stands twice or out of order');
    fields.set(label, line.startsWith(`${label}: `) ? line.slice(label.length + 2) : '');
    next = found + 1;
  }
  return fields;
}

/** Characters allowed in a timestamp. */
const TIMESTAMP_CHARACTERS = /^[0-9TtZz:.+-]+$/;

/**
 * Parses an RFC 3339 timestamp to Unix milliseconds. Neither parser is enough alone: Date.parse reads 31 February as 3
 * March, and siwe's pattern accepts any character as the decimal point, where Date.parse skips a NUL.
 */
function readTimeMs(text: string): number {
  const isReal = TIMESTAMP_CHARACTERS.test(text) && isValidISO8601Date(text);
  const timeMs = isReal ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(timeMs)) throw malformed('the expiration time cannot be read');
  return timeMs;
}

const malformed = (why: string): Refusal => new Refusal('malformed_message', why);
