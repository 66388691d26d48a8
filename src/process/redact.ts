/** Keeps tokens, signatures and login messages out of the logs. */

/**
 * Matches JWTs (base64url of `{"`) even if the URL encodes their dots, signatures, and login messages or nonces by
 * name.
 */
const SECRETS =
  /\beyJ[\w-]*(?:(?:\.|%2e)[\w-]*)*|\b0x[0-9a-f]{128,}|(?<=[?&](?:access_)?(?:token|signature|message|nonce)=)[^&\s]+/gi;

const redacted = (text: string): string => text.replace(SECRETS, '[redacted]');

/** Maximum logged length of a URL, and of an error's message and stack. These may contain a client's text. */
const MAX_URL_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_STACK_LENGTH = 4_000;

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** Returns a URL for the log. The URL is redacted before it is cut, so that no part of a secret remains at its end. */
export const loggedUrl = (url: string): string => cut(redacted(url), MAX_URL_LENGTH);

interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code?: unknown;
  readonly cause?: ErrorRecord;
}

/**
 * Returns an error for the log, without most of its properties. Drivers store a failed command and its arguments there,
 * and the arguments of a login are its nonce and signature.
 */
export function errorRecord(error: unknown): ErrorRecord {
  if (!(error instanceof Error))
    return {
      type: typeof error,
      message: cut(redacted(String(error)), MAX_MESSAGE_LENGTH),
      stack: undefined,
    };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: cut(redacted(error.message), MAX_MESSAGE_LENGTH),
    stack: error.stack && cut(redacted(error.stack), MAX_STACK_LENGTH),
    ...(code !== undefined && { code }),
    ...(error.cause !== undefined && { cause: errorRecord(error.cause) }),
  };
}
