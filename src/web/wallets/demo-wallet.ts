/**
 * A throw-away wallet for demonstrations: its key is plain bytes in this tab. Loaded only when a reader asks for it.
 *
 * Signs only typed data whose fields are texts and addresses, as the login challenge is.
 */

import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { getPublicKey, hashes, sign, utils } from '@noble/secp256k1';

// The library has no hash of its own. WebCrypto's are missing on pages without TLS, such as a phone's view of a LAN.
hashes.sha256 = sha256;
hashes.hmacSha256 = (key, message) => hmac(sha256, key, message);

/** EIP-712 typed data as the login challenge has it. */
interface TypedData {
  readonly domain: { readonly name: string; readonly version: string };
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

export interface DemoWallet {
  /** `0x` and 40 lower-case hex digits. */
  readonly address: string;
  /** `0x` and 64 hex digits. */
  readonly privateKey: string;
  /** @returns r, s and v as `0x` and 130 hex digits; v is 27 or 28 */
  signTypedData(typedData: TypedData): string;
}

type TypedField = TypedData['types'][string][number];

const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
/** v of an ordinary account is the recovery bit and this. */
const RECOVERY_OFFSET = 27;

const DOMAIN: readonly TypedField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
];

const hashText = (text: string): Uint8Array => keccak_256(utf8ToBytes(text));

function encodeValue({ name, type }: TypedField, value: unknown): Uint8Array {
  if (typeof value === 'string' && type === 'string') return hashText(value);
  if (typeof value === 'string' && type === 'address' && /^0x[0-9a-fA-F]{40}$/.test(value)) {
    return concatBytes(new Uint8Array(WORD_BYTES - ADDRESS_BYTES), hexToBytes(value.slice(2)));
  }
  throw new TypeError(`the demo wallet does not sign the field ${name} of the type ${type}`);
}

/** hashStruct of EIP-712. */
function hashStruct(
  type: string,
  fields: readonly TypedField[],
  values: Readonly<Record<string, unknown>>,
): Uint8Array {
  const signature = `${type}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})`;
  const encoded = fields.map((field) => encodeValue(field, values[field.name]));
  return keccak_256(concatBytes(hashText(signature), ...encoded));
}

/** The digest that EIP-712 signs. */
export function typedDataDigest({ domain, types, primaryType, message }: TypedData): Uint8Array {
  const fields = types[primaryType];
  if (fields === undefined) throw new TypeError(`types lacks ${primaryType}`);
  return keccak_256(
    concatBytes(
      Uint8Array.of(0x19, 0x01),
      hashStruct('EIP712Domain', DOMAIN, { ...domain }),
      hashStruct(primaryType, fields, message),
    ),
  );
}

/**
 * Returns r, s and v as hex. The library puts the recovery bit first, and chooses the lower s, as wallets do since
 * EIP-2.
 */
function signDigest(digest: Uint8Array, key: Uint8Array): string {
  const signature = sign(digest, key, { prehash: false, format: 'recovered' });
  const v = signature[0]! + RECOVERY_OFFSET;
  return `0x${bytesToHex(signature.slice(1))}${v.toString(16)}`;
}

/** Returns the address: the end of the hash of the public key without its leading byte. */
const addressOf = (key: Uint8Array): string =>
  `0x${bytesToHex(keccak_256(getPublicKey(key, false).slice(1)).slice(-ADDRESS_BYTES))}`;

function readKey(text: string): Uint8Array {
  const key = /^0x[0-9a-fA-F]{64}$/.test(text) ? hexToBytes(text.slice(2)) : undefined;
  if (key === undefined || !utils.isValidSecretKey(key))
    throw new RangeError('not a private key: 0x and 64 hex digits');
  return key;
}

/**
 * @param privateKey `0x` and 64 hex digits; a new random key unless given
 * @throws RangeError for a text that is no key of the curve
 */
export function openDemoWallet(privateKey?: string): DemoWallet {
  const key = privateKey === undefined ? utils.randomSecretKey() : readKey(privateKey);
  return {
    address: addressOf(key),
    privateKey: `0x${bytesToHex(key)}`,
    signTypedData: (typedData) => signDigest(typedDataDigest(typedData), key),
  };
}
