/**
 * A throw-away wallet for demonstrations: its key is plain bytes in this tab. Loaded only when a reader asks for it.
 *
 * Signs only typed data whose fields are texts and addresses, as the login challenge is.
 */

import { weierstrass } from '@noble/curves/abstract/weierstrass.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/** EIP-712 typed data as the login challenge has it. */
export interface TypedData {
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

type Field = TypedData['types'][string][number];

/**
 * secp256k1, from its parameters (SEC 2). The library's own module of the curve carries protocols that no login needs,
 * and twice the bytes.
 */
const Point = weierstrass({
  p: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn,
  n: 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n,
  h: 1n,
  a: 0n,
  b: 7n,
  Gx: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  Gy: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
});
const Scalar = Point.Fn;

const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
/** v of an ordinary account is the recovery bit and this. */
const RECOVERY_OFFSET = 27;

const DOMAIN: readonly Field[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
];

const hashText = (text: string): Uint8Array => keccak_256(utf8ToBytes(text));

function encodeValue({ name, type }: Field, value: unknown): Uint8Array {
  if (typeof value === 'string' && type === 'string') return hashText(value);
  if (typeof value === 'string' && type === 'address' && /^0x[0-9a-fA-F]{40}$/.test(value)) {
    return concatBytes(new Uint8Array(WORD_BYTES - ADDRESS_BYTES), hexToBytes(value.slice(2)));
  }
  throw new TypeError(`the demo wallet does not sign the field ${name} of the type ${type}`);
}

/** hashStruct of EIP-712. */
function hashStruct(
  type: string,
  fields: readonly Field[],
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

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${bytesToHex(bytes)}`);

const wordOf = (value: bigint): string => value.toString(16).padStart(WORD_BYTES * 2, '0');

/** A random number from 1 to the order of the curve less 1, each as likely as any other. */
function randomScalar(): bigint {
  for (;;) {
    const value = numberOf(crypto.getRandomValues(new Uint8Array(WORD_BYTES)));
    if (Scalar.isValidNot0(value)) return value;
  }
}

/** ECDSA with a random nonce, and the lower s of the two that fit, as wallets send it since EIP-2. */
function signDigest(digest: Uint8Array, key: bigint): string {
  const nonce = randomScalar();
  const { x, y } = Point.BASE.multiply(nonce).toAffine();
  const r = Scalar.create(x);
  const s = Scalar.mul(Scalar.inv(nonce), Scalar.add(Scalar.create(numberOf(digest)), Scalar.mul(r, key)));
  // Once in 2^127: the point's x is not below the curve's order, or a number is zero.
  if (r !== x || r === 0n || s === 0n) return signDigest(digest, key);
  const isHigh = s > Scalar.ORDER / 2n;
  const recovery = (y % 2n === 1n) === isHigh ? 0 : 1;
  return `0x${wordOf(r)}${wordOf(isHigh ? Scalar.neg(s) : s)}${(recovery + RECOVERY_OFFSET).toString(16)}`;
}

function addressOf(key: bigint): string {
  const { x, y } = Point.BASE.multiply(key).toAffine();
  return `0x${bytesToHex(keccak_256(hexToBytes(wordOf(x) + wordOf(y))).slice(-ADDRESS_BYTES))}`;
}

function readKey(text: string): bigint {
  const key = /^0x[0-9a-fA-F]{64}$/.test(text) ? BigInt(text) : 0n;
  if (!Scalar.isValidNot0(key)) throw new RangeError('not a private key: 0x and 64 hex digits');
  return key;
}

/**
 * @param privateKey `0x` and 64 hex digits; a new random key unless given
 * @throws RangeError for a text that is no key of the curve
 */
export function openDemoWallet(privateKey?: string): DemoWallet {
  const key = privateKey === undefined ? randomScalar() : readKey(privateKey);
  return {
    address: addressOf(key),
    privateKey: `0x${wordOf(key)}`,
    signTypedData: (typedData) => signDigest(typedDataDigest(typedData), key),
  };
}
