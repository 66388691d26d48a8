/** Reads a JSON body, of at most 16 KB on most routes. Every number stays as written. */

import { isAscii } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { NumberLiteral } from '../../contract/decimals.ts';
import { Refusal } from '../../domain/errors.ts';
import { readJson } from '../json.ts';
import { tellsOfBody } from '../response/index.ts';
import type { BodyLimits } from '../route.ts';

/** A request names 100 orders at most. */
const USUAL: BodyLimits = { bytes: 16 * 1024, members: 128 };

/** Fatal: invalid UTF-8 must not become U+FFFD in a client order id. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const tooLarge = ({ bytes }: BodyLimits): Refusal =>
  new Refusal('EXPRESS_ERR_BODY_TOO_LARGE', `the body is larger than ${bytes / 1024} KB`);

/**
 * Reads the body, a JSON object. A request without a body has an empty one, whatever its content type, so that the
 * schema names the missing fields.
 * @throws Refusal EXPRESS_ERR_* if the body cannot be read, VALIDATION_ERROR if it is not an object
 */
export async function readBody(request: IncomingMessage, limits = USUAL): Promise<object> {
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (chunked === undefined && (length === undefined || length === '0')) return {};
  checkType(request);
  if (Number(length) > limits.bytes) throw tooLarge(limits);
  if (tellsOfBody(request) && !request.complete && !request.destroyed)
    await new Promise<void>((resolve) => {
      request.onBody = resolve;
    });
  const bytes = readWhole(request, limits) ?? (await readBytes(request, limits));
  return bytes.length === 0 ? {} : readObject(decoded(bytes), limits);
}

/** Rejects other content types. Rejects compressed bodies, so that the limit is that of the text. */
function checkType({ headers }: IncomingMessage): void {
  const isPlain = (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  if (!isPlain || !isJsonType(headers['content-type'])) {
    throw new Refusal('EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json in UTF-8');
  }
}

/** True for `application/json` without a charset or with UTF-8. Other parameters are ignored. */
function isJsonType(contentType = ''): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === 'application/json' &&
    parameters.every(
      (parameter) => !parameter.startsWith('charset') || /^charset="?utf-?8"?$/.test(parameter),
    )
  );
}

/** Returns the body if all of it has arrived. Reading it without listeners takes half the time. */
function readWhole(request: IncomingMessage, limits: BodyLimits): Buffer | null {
  if (!request.complete) return null;
  const bytes: Buffer | null = request.read();
  if (bytes !== null && bytes.length > limits.bytes) throw tooLarge(limits);
  return bytes;
}

/** Reads to the end and drops bytes beyond the limit, so that the client can read the refusal. */
async function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  if (request.destroyed && !request.complete) throw new Refusal('EXPRESS_ERR_BODY_ABORTED');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limits.bytes) chunks.push(chunk);
      else reject(tooLarge(limits));
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.on('error', () => reject(new Refusal('EXPRESS_ERR_BODY_ABORTED')));
  });
}

function decoded(bytes: Buffer): string {
  // Almost every body, and at a third of the decoder's time.
  if (isAscii(bytes)) return bytes.toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal('EXPRESS_ERR_INVALID_JSON', 'the body is not valid UTF-8');
  }
}

function readObject(text: string, { members }: BodyLimits): object {
  const value = readJson(text, members);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof NumberLiteral) {
    throw new Refusal('VALIDATION_ERROR', 'the body must be a JSON object');
  }
  return value;
}
