/** Keeps what signs people in out of the logs. */

/** A JWT (base64url of `{"`), whatever the URL does to its dots; a signature; a login message or nonce by name. */
const SECRETS =
  /\beyJ[\w-]*(?:(?:\.|%2e)[\w-]*)*|\b0x[0-9a-f]{128,}|(?<=[?&](?:access_)?(?:token|signature|message|nonce)=)[^&\s]+/gi;

export const redacted = (text: string): string => text.replace(SECRETS, '[redacted]');

interface ErrorRecord {
  readonly type: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code?: unknown;
  readonly cause?: ErrorRecord;
}

/**
 * An error as it is logged. Not with all its properties: the drivers put a failed command with its arguments
 * there, and those of a login are its nonce and signature.
 */
export function errorRecord(error: unknown): ErrorRecord {
  if (!(error instanceof Error))
    return { type: typeof error, message: redacted(String(error)), stack: undefined };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: redacted(error.message),
    stack: error.stack && redacted(error.stack),
    ...(code !== undefined && { code }),
    ...(error.cause !== undefined && { cause: errorRecord(error.cause) }),
  };
}
