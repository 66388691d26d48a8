/** Explains in words why a server cannot be used, for the person who set its URL. */

import { NO_RIGHT } from '../ledger/index.ts';

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection is refused',
  ENOTFOUND: 'no host has this name',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ECONNRESET: 'it closes the connection',
  EPIPE: 'it closes the connection',
  EPROTO: 'it does not speak TLS as the URL says',
  '28P01': 'it refuses the user or the password of the URL',
  '28000': 'it refuses the user of the URL',
  '57P03': 'it is still starting',
  '53300': 'it has no connection left',
};

const BY_TEXT: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS/, 'it refuses the user or the password of the URL'],
  [/^NOAUTH/, 'it wants a password'],
  [/\bOOM\b/, 'its memory is full'],
  [/\bREADONLY\b/, 'it is a replica'],
  [/^LOADING/, 'it is still loading its data'],
  [/wrong version number|does not support SSL|before secure TLS/, 'it does not speak TLS as the URL says'],
  [/^Protocol error, got/, 'it does not speak the protocol of Redis (is TLS missing in the URL: rediss://?)'],
  [/timed? ?out|does not answer/i, 'it does not answer'],
  [/Connection (is closed|terminated|ended)|closed before/i, 'it closes the connection'],
];

/**
 * Returns the reason of a failure as one line without a stack.
 * @param secrets texts that no reason may contain
 */
export function reasonOf(error: unknown, secrets: readonly string[] = []): string {
  if (!(error instanceof Error)) return hidden(String(error), secrets);
  const { code, cause, errors } = error as Error & { code?: unknown; errors?: unknown[] };
  // A refusal for clients wraps the driver's error. A host with several addresses has one error per address.
  if (cause instanceof Error) return reasonOf(cause, secrets);
  const [line = ''] = error.message.split('\n');
  const known = BY_TEXT.find(([pattern]) => pattern.test(line))?.[1];
  if (known !== undefined) return known;
  if (code === NO_RIGHT) return `${line}: run \`redbook migrate\` as the owner of the tables`;
  if (typeof code === 'string' && code in BY_CODE) return BY_CODE[code]!;
  if (errors?.[0] !== undefined) return reasonOf(errors[0], secrets);
  return hidden(line || error.name, secrets);
}

const hidden = (text: string, secrets: readonly string[]): string =>
  secrets.filter((secret) => secret !== '').reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
