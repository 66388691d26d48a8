/** Explains in plain words why a wallet did not sign. Codes are those of EIP-1193 and of JSON-RPC. */

const REFUSED = 4001;
const UNAUTHORIZED = 4100;
const UNSUPPORTED = 4200;
const DISCONNECTED = 4900;
const PENDING = -32002;
const NO_SUCH_METHOD = -32601;
/** Maximum characters of a wallet's own text, which is not trusted and may be long. */
const MAX_TEXT_LENGTH = 200;

/** True when the reader refused in the wallet: nothing is broken. */
export const isRefusal = (thrown: unknown): boolean => codeOf(thrown) === REFUSED;

function codeOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { code, cause } = thrown as { code?: unknown; cause?: unknown };
  if (typeof code === 'number') return code;
  return cause === undefined ? undefined : codeOf(cause);
}

/** @param name of the wallet, as it announced itself */
export function walletFault(thrown: unknown, name: string): string {
  switch (codeOf(thrown)) {
    case REFUSED:
      return `The request was refused in ${name}. You are not signed in.`;
    case PENDING:
      return `A prompt is open already in your wallet. Open ${name}, answer the prompt there, and sign in again.`;
    case UNSUPPORTED:
    case NO_SUCH_METHOD:
      return `${name} cannot sign typed data (eth_signTypedData_v4), which sign-in needs. Choose another wallet.`;
    case UNAUTHORIZED:
      return `${name} did not give this page access to the account. Unlock it, allow access, and sign in again.`;
    case DISCONNECTED:
      return `${name} is not connected. Unlock it and sign in again.`;
    default:
      return `${name} did not sign: ${messageOf(thrown)}`;
  }
}

function messageOf(thrown: unknown): string {
  const message = (thrown as { message?: unknown } | null)?.message;
  if (typeof message !== 'string' || message === '') return 'it gave no reason.';
  return message.length > MAX_TEXT_LENGTH ? `${message.slice(0, MAX_TEXT_LENGTH)}…` : message;
}
