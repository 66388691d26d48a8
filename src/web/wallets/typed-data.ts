/** The login challenge in the form that `eth_signTypedData_v4` takes. */

/** EIP-712 typed data as the challenge has it. */
export interface TypedData {
  readonly domain: { readonly name: string; readonly version: string };
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
];

/**
 * The second parameter of `eth_signTypedData_v4`. A wallet that is called directly takes the type of the domain from
 * `types`, and signs an empty domain when it is missing; the challenge leaves it out.
 */
export const typedDataText = ({ domain, types, primaryType, message }: TypedData): string =>
  JSON.stringify({ domain, types: { EIP712Domain: DOMAIN_TYPE, ...types }, primaryType, message });
