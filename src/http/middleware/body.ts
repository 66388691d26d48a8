/** Reads a JSON body of at most 16 KB, every number of it as it was written. */

import express, { type RequestHandler } from 'express';
import { Refusal } from '../../domain/errors.ts';
import { NumberLiteral, readJson } from '../json.ts';

const MOST_BYTES = 16 * 1024;

/** Fatal: bytes that are no UTF-8 must not become U+FFFD in a client order id. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Whatever the type says: `readBody` refuses other types before, and no compression, so 16 KB stay 16 KB. */
const readBytes = express.raw({ type: () => true, limit: MOST_BYTES, inflate: false });

/**
 * Leaves the parsed body, an object, in `request.body`. A request without one is read as `{}`, so that the
 * schema tells which fields it wants.
 */
export const readBody: readonly RequestHandler[] = [
  (request, _response, next) => {
    const {
      'content-type': contentType,
      'content-length': length,
      'transfer-encoding': chunked,
    } = request.headers;
    const isEmpty = chunked === undefined && (length === undefined || length === '0');
    if (!isEmpty && !isJsonType(contentType)) {
      throw new Refusal('EXPRESS_ERR_UNSUPPORTED_MEDIA_TYPE', 'send the body as application/json in UTF-8');
    }
    next();
  },
  readBytes,
  (request, _response, next) => {
    const bytes: Buffer | undefined = request.body;
    request.body = bytes === undefined || bytes.length === 0 ? {} : readObject(decoded(bytes));
    next();
  },
];

/** `application/json`, without a charset or with UTF-8's; other parameters mean nothing. */
function isJsonType(contentType = ''): boolean {
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === 'application/json' &&
    parameters.every(
      (parameter) => !parameter.startsWith('charset') || /^charset="?utf-?8"?$/.test(parameter),
    )
  );
}

function readObject(text: string): object {
  const value = readJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof NumberLiteral) {
    throw new Refusal('VALIDATION_ERROR', 'the body must be a JSON object');
  }
  return value;
}

function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal('EXPRESS_ERR_INVALID_JSON', 'the body is not valid UTF-8');
  }
}
