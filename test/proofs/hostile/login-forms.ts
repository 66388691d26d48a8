/** Logins that the contract makes invalid, in both flows. Each differs from a valid login in one thing. */

import { AbiCoder, concat, Wallet } from 'ethers';
import type { LoginTypedData } from '../../../src/auth/index.ts';
import { highS, withV, wrongForms } from '../../auth/signature-forms.ts';
import { loginText, type Signer, type SiweFields } from '../../auth/signers.ts';
import type { Random } from '../../support/seed.ts';

/** A wallet at sign-in, with a fresh challenge. */
export interface Candidate<Challenge> {
  readonly signer: Signer;
  readonly stranger: Signer;
  readonly privateKey: string;
  readonly challenge: Challenge;
  readonly dice: Random;
}

type Body = Readonly<Record<string, unknown>>;

/** An invalid login. `before` says what happens to the challenge first. */
export interface Mutation<Challenge> {
  readonly name: string;
  readonly before?: 'used' | 'replaced' | 'expired';
  make(candidate: Candidate<Challenge>): Promise<Body> | Body;
}

interface OtherTypedData {
  readonly domain?: object;
  readonly types?: Readonly<Record<string, { name: string; type: string }[]>>;
  readonly message?: object;
}

async function signOther(
  { privateKey, challenge }: Candidate<LoginTypedData>,
  changed: OtherTypedData,
): Promise<string> {
  const { domain, types, message } = challenge;
  return new Wallet(privateKey).signTypedData(
    changed.domain ?? domain,
    changed.types ?? { Login: types.Login.map((field) => ({ ...field })) },
    { ...message, ...changed.message },
  );
}

const typed =
  (
    name: string,
    change: (challenge: LoginTypedData, candidate: Candidate<LoginTypedData>) => OtherTypedData,
  ) =>
  (): Mutation<LoginTypedData> => ({
    name,
    make: async (candidate) => ({
      address: candidate.signer.address,
      signature: await signOther(candidate, change(candidate.challenge, candidate)),
    }),
  });

const flip = (text: string): string => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');

const LOGIN_FIELDS = [
  { name: 'address', type: 'address' },
  { name: 'nonce', type: 'string' },
  { name: 'issuedAt', type: 'string' },
];

const OTHER_TYPED_DATA: readonly (() => Mutation<LoginTypedData>)[] = [
  typed('domain name', () => ({ domain: { name: 'Redb00k', version: '1' } })),
  typed('domain name in another case', () => ({ domain: { name: 'redbook', version: '1' } })),
  typed('domain version', ({ domain }) => ({ domain: { ...domain, version: '2' } })),
  typed('chain id in the domain', ({ domain }) => ({ domain: { ...domain, chainId: 1 } })),
  typed('contract in the domain', ({ domain }) => ({
    domain: { ...domain, verifyingContract: `0x${'1'.repeat(40)}` },
  })),
  typed('salt in the domain', ({ domain }) => ({ domain: { ...domain, salt: `0x${'1'.repeat(64)}` } })),
  typed('empty domain', () => ({ domain: {} })),
  typed('domain without version', ({ domain }) => ({ domain: { name: domain.name } })),
  typed('address of another wallet', (_challenge, { stranger }) => ({
    message: { address: stranger.address },
  })),
  typed('nonce', ({ message }) => ({ message: { nonce: flip(message.nonce) } })),
  typed('nonce in upper case', ({ message }) => ({ message: { nonce: `${message.nonce.toUpperCase()}A` } })),
  typed('nonce with a blank', ({ message }) => ({ message: { nonce: `${message.nonce} ` } })),
  typed('issuedAt a millisecond later', ({ message }) => ({
    message: { issuedAt: new Date(Date.parse(message.issuedAt) + 1).toISOString() },
  })),
  typed('issuedAt of next year', () => ({ message: { issuedAt: '2100-01-01T00:00:00.000Z' } })),
  typed('primary type', () => ({ types: { Signin: LOGIN_FIELDS } })),
  typed('order of fields', () => ({ types: { Login: LOGIN_FIELDS.toReversed() } })),
  typed('type of the nonce', () => ({
    types: {
      Login: LOGIN_FIELDS.map((field) => (field.name === 'address' ? { ...field, type: 'string' } : field)),
    },
  })),
  typed('field left out', () => ({ types: { Login: LOGIN_FIELDS.slice(0, 2) } })),
  typed('field added', () => ({
    types: { Login: [...LOGIN_FIELDS, { name: 'admin', type: 'bool' }] },
    message: { admin: true },
  })),
];

/** Makes other bytes of a valid signature, in both flows. */
type Resign = (signature: string, dice: Random) => unknown;

const CURVE_ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';

function flipBit(signature: string, dice: Random): string {
  const at = 2 + dice.below(128);
  const digit = Number.parseInt(signature[at]!, 16) ^ (1 << dice.below(4));
  return signature.slice(0, at) + digit.toString(16) + signature.slice(at + 1);
}

function compact(signature: string): string {
  const yParity = signature.endsWith('1c') ? 0x80 : 0;
  const firstOfS = Number.parseInt(signature.slice(66, 68), 16) | yParity;
  return signature.slice(0, 66) + firstOfS.toString(16).padStart(2, '0') + signature.slice(68, 130);
}

const SIGNATURES: readonly (readonly [name: string, resign: Resign])[] = [
  ...wrongForms(`0x${'11'.repeat(64)}1b`).map((_form, index): readonly [string, Resign] => [
    `form ${index} of a signature`,
    (signature) => wrongForms(signature)[index]![0],
  ]),
  ['high s', (signature) => highS(signature)],
  ['high s with the same v', (signature) => highS(signature).slice(0, -2) + signature.slice(-2)],
  ['other v', (signature) => withV(signature, signature.endsWith('1c') ? 27 : 28)],
  ['other v as 0 or 1', (signature) => withV(signature, signature.endsWith('1c') ? 0 : 1)],
  ...[2, 3, 4, 26, 29, 30, 31, 34, 35, 36, 37, 38, 127, 128, 255].map((v): readonly [string, Resign] => [
    `v of ${v}`,
    (signature) => withV(signature, v),
  ]),
  ['compact form', (signature) => compact(signature)],
  // With its own v it would be the signature itself, if v is 27.
  [
    'compact form with the other v behind it',
    (signature) => compact(signature) + (signature.endsWith('1c') ? '1b' : '1c'),
  ],
  ['r of zero', (signature) => `0x${'0'.repeat(64)}${signature.slice(66)}`],
  ['s of zero', (signature) => signature.slice(0, 66) + '0'.repeat(64) + signature.slice(130)],
  ['r of the order', (signature) => `0x${CURVE_ORDER}${signature.slice(66)}`],
  ['s of the order', (signature) => signature.slice(0, 66) + CURVE_ORDER + signature.slice(130)],
  [
    'r and s exchanged',
    (signature) => `0x${signature.slice(66, 130)}${signature.slice(2, 66)}${signature.slice(130)}`,
  ],
  ['flipped bit', flipBit],
  ['flipped bit again', flipBit],
  ['blank before', (signature) => ` ${signature}`],
  ['blank behind', (signature) => `${signature} `],
  ['NUL behind', (signature) => `${signature}\u0000`],
  ['as a list', (signature) => [signature]],
  ['as an object', (signature) => ({ r: signature.slice(0, 66), s: signature.slice(66, 130), v: 27 })],
  ['as null', () => null],
  ['as a number', () => 1],
  ['twice', (signature) => signature + signature.slice(2)],
  [
    'wrapped as ERC-6492',
    (signature) =>
      concat([
        AbiCoder.defaultAbiCoder().encode(
          ['address', 'bytes', 'bytes'],
          [`0x${'1'.repeat(40)}`, '0x', signature],
        ),
        `0x${'6492'.repeat(16)}`,
      ]),
  ],
];

const goodTyped = async ({ signer, challenge }: Candidate<LoginTypedData>): Promise<Body> => ({
  address: signer.address,
  signature: await signer.signTyped(challenge),
});

/** Claims that a body may not make for itself. */
const EXTRA: readonly Body[] = [
  { verified: true },
  { token: 'x', wallet: 'x' },
  { chainId: 1, type: 'erc1271' },
  { types: {}, domain: {}, primaryType: 'Login' },
];

const AS_OFTEN = ['used', 'replaced', 'expired'] as const;

export const TYPED_MUTATIONS: readonly Mutation<LoginTypedData>[] = [
  ...OTHER_TYPED_DATA.map((make) => make()),
  ...SIGNATURES.map(
    ([name, resign]): Mutation<LoginTypedData> => ({
      name,
      async make(candidate) {
        const body = await goodTyped(candidate);
        return { ...body, signature: resign(String(body.signature), candidate.dice) };
      },
    }),
  ),
  ...AS_OFTEN.map(
    (before): Mutation<LoginTypedData> => ({ name: `challenge ${before}`, before, make: goodTyped }),
  ),
  {
    name: "another wallet's signature",
    make: async ({ signer, stranger, challenge }) => ({
      address: signer.address,
      signature: await stranger.signTyped(challenge),
    }),
  },
  {
    name: 'address of a wallet without a challenge',
    make: async (candidate) => ({ ...(await goodTyped(candidate)), address: candidate.stranger.address }),
  },
  {
    name: 'personal_sign of the typed data',
    make: async ({ signer, challenge }) => ({
      address: signer.address,
      signature: await signer.signText(JSON.stringify(challenge)),
    }),
  },
  {
    name: 'personal_sign of the nonce',
    make: async ({ signer, challenge }) => ({
      address: signer.address,
      signature: await signer.signText(challenge.message.nonce),
    }),
  },
  ...EXTRA.map(
    (extra, index): Mutation<LoginTypedData> => ({
      name: `extra fields ${index} beside a stranger's signature`,
      make: async ({ signer, stranger, challenge }) => ({
        ...extra,
        typedData: challenge,
        address: signer.address,
        signature: await stranger.signTyped(challenge),
      }),
    }),
  ),
];

/** A nonce of the SIWE flow. */
type Nonce = string;

const fieldsOf = ({ signer, challenge }: Candidate<Nonce>): SiweFields => ({
  address: signer.address,
  nonce: challenge,
});

export async function goodSiwe(candidate: Candidate<Nonce>): Promise<Body> {
  const message = loginText({ ...fieldsOf(candidate), expirationTime: '2100-01-01T00:00:00.000Z' });
  const { signer } = candidate;
  return { address: signer.address, message, signature: await signer.signText(message) };
}

/** A message that is signed as it is sent, and breaks a rule. */
const signed = (name: string, textOf: (candidate: Candidate<Nonce>) => string): Mutation<Nonce> => ({
  name: `signed: ${name}`,
  async make(candidate) {
    const message = textOf(candidate);
    return {
      address: candidate.signer.address,
      message,
      signature: await candidate.signer.signText(message),
    };
  },
});

const DOMAINS = [
  'evil.example',
  'redbook.example.evil.example',
  'evil-redbook.example',
  'www.www.redbook.example',
  'sub.redbook.example',
  'redbook.example:443',
  'redbook.example.',
  'REDBOOK.example',
  'redboo\u212a.example',
  'user@redbook.example',
  'redbook.example/evil',
  'redbook.example#',
  'redbook.exampl\u0435',
  '127.0.0.1',
  'evil.example/redbook.example',
];

const EXPIRATIONS = [
  '1970-01-01T00:00:00Z',
  '2020-01-01T00:00:00.000Z',
  'tomorrow',
  '4102444800',
  '2100-02-31T00:00:00Z',
  '2100-01-01',
  '2100-01-01 00:00:00',
  ' 2100-01-01T00:00:00Z',
  '2100-01-01T00:00:00Z ',
  '2100-13-01T00:00:00Z',
  '',
];

const good = (candidate: Candidate<Nonce>): string => loginText(fieldsOf(candidate));

/** Lays the lines of a good message out otherwise. */
const laidOut = (name: string, change: (lines: string[]) => string[]): Mutation<Nonce> =>
  signed(`layout, ${name}`, (candidate) => change(good(candidate).split('\n')).join('\n'));

const SIGNED_WRONG: readonly Mutation<Nonce>[] = [
  ...DOMAINS.map((domain) => signed(`domain ${domain}`, (of) => loginText({ ...fieldsOf(of), domain }))),
  ...EXPIRATIONS.map((expirationTime) =>
    signed(`expires ${expirationTime}`, (of) => loginText({ ...fieldsOf(of), expirationTime })),
  ),
  signed('address of another wallet', (of) => loginText({ ...fieldsOf(of), address: of.stranger.address })),
  signed('address without 0x', (of) => loginText({ ...fieldsOf(of), address: of.signer.address.slice(2) })),
  signed('address with a blank', (of) => loginText({ ...fieldsOf(of), address: `${of.signer.address} ` })),
  signed('no address', (of) => loginText({ ...fieldsOf(of), address: '' })),
  signed('no nonce', (of) => loginText({ ...fieldsOf(of), nonce: undefined })),
  signed('nonce of nobody', (of) => loginText({ ...fieldsOf(of), nonce: flip(of.challenge) })),
  signed('nonce in upper case', (of) =>
    loginText({ ...fieldsOf(of), nonce: `${of.challenge.toUpperCase()}F` }),
  ),
  signed('nonce cut', (of) => loginText({ ...fieldsOf(of), nonce: of.challenge.slice(0, 31) })),
  signed('nonce with a blank', (of) => loginText({ ...fieldsOf(of), nonce: `${of.challenge} ` })),
  signed('nonce only in the statement', (of) =>
    loginText({ ...fieldsOf(of), nonce: flip(of.challenge), statement: `Nonce: ${of.challenge}` }),
  ),
  signed('nonce only in a resource', (of) =>
    loginText({ ...fieldsOf(of), nonce: undefined, resources: [`Nonce: ${of.challenge}`] }),
  ),
  signed('empty message', () => '\n'),
  signed('only the nonce', (of) => of.challenge),
  laidOut('no blank line', (lines) => lines.filter((line) => line !== '')),
  laidOut('line break behind', (lines) => [...lines, '']),
  laidOut('line break before', (lines) => ['', ...lines]),
  laidOut('blank before', ([first, ...lines]) => [` ${first}`, ...lines]),
  laidOut('carriage returns', (lines) => lines.map((line) => `${line}\r`)),
  laidOut('nonce twice', (lines) => [...lines, lines.find((line) => line.startsWith('Nonce'))!]),
  laidOut('order of lines', (lines) => [...lines.slice(0, 5), ...lines.slice(5).toReversed()]),
  laidOut('unknown line', (lines) => [...lines, 'Admin: true']),
  laidOut('label in another case', (lines) => lines.map((line) => line.replace(/^Nonce:/, 'nonce:'))),
  laidOut('first line in another case', ([first, ...lines]) => [first!.replace('wants', 'Wants'), ...lines]),
  laidOut('first line for another chain', ([first, ...lines]) => [
    first!.replace('Ethereum', 'Solana'),
    ...lines,
  ]),
];

/** Alters a message after it was signed. */
const altered = (name: string, alter: (message: string, dice: Random) => string): Mutation<Nonce> => ({
  name: `altered: ${name}`,
  async make(candidate) {
    const body = await goodSiwe(candidate);
    return { ...body, message: alter(String(body.message), candidate.dice) };
  },
});

const ALTERED: readonly Mutation<Nonce>[] = [
  altered('chain id', (message) => message.replace('Chain ID: 1', 'Chain ID: 5')),
  altered('issued at', (message) => message.replace('Issued At: 2025', 'Issued At: 2026')),
  altered('URI', (message) => message.replace('/login', '/other')),
  altered('version', (message) => message.replace('Version: 1', 'Version: 2')),
  altered('statement', (message) => message.replace('Sign in', 'Log in')),
  altered('expiration', (message) => message.replace('2100', '2101')),
  altered('expiration left out', (message) => message.replace(/\nExpiration Time: .*/, '')),
  altered('address in another case', (message) =>
    message.replace(/0x[0-9a-fA-F]{40}/, (a) => a.toLowerCase()),
  ),
  altered('trailing blank', (message) => `${message} `),
  altered('line break behind', (message) => `${message}\n`),
  altered('CR LF', (message) => message.replaceAll('\n', '\r\n')),
  altered('two blanks', (message) => message.replace(' wants', '  wants')),
  altered('tab', (message) => message.replace(' wants', '\twants')),
  altered('no-break space', (message) => message.replace(' wants', '\u00a0wants')),
  altered('byte order mark', (message) => `\ufeff${message}`),
  altered('NUL', (message) => `${message}\u0000`),
  altered('lone surrogate', (message) => `${message}\ud800`),
  altered('www before the domain', (message) => `www.${message}`),
  altered('scheme before the domain', (message) => `https://${message}`),
  altered('case of one letter', (message, dice) => {
    const letters = [...message.matchAll(/[a-z]/g)];
    const at = dice.pick(letters).index;
    return message.slice(0, at) + message[at]!.toUpperCase() + message.slice(at + 1);
  }),
  altered('one character left out', (message, dice) => {
    const at = dice.below(message.length);
    return message.slice(0, at) + message.slice(at + 1);
  }),
  altered('one character twice', (message, dice) => {
    const at = dice.below(message.length);
    return message.slice(0, at) + message[at] + message.slice(at);
  }),
];

export const SIWE_MUTATIONS: readonly Mutation<Nonce>[] = [
  ...SIGNED_WRONG,
  ...ALTERED,
  ...SIGNATURES.map(
    ([name, resign]): Mutation<Nonce> => ({
      name,
      async make(candidate) {
        const body = await goodSiwe(candidate);
        return { ...body, signature: resign(String(body.signature), candidate.dice) };
      },
    }),
  ),
  ...AS_OFTEN.map((before): Mutation<Nonce> => ({ name: `nonce ${before}`, before, make: goodSiwe })),
  {
    name: "another wallet's signature",
    async make(candidate) {
      const body = await goodSiwe(candidate);
      return { ...body, signature: await candidate.stranger.signText(String(body.message)) };
    },
  },
  {
    name: 'address of another wallet in the body',
    make: async (candidate) => ({ ...(await goodSiwe(candidate)), address: candidate.stranger.address }),
  },
  ...EXTRA.map(
    (extra, index): Mutation<Nonce> => ({
      name: `extra fields ${index} beside a stranger's signature`,
      async make(candidate) {
        const body = await goodSiwe(candidate);
        return { ...extra, ...body, signature: await candidate.stranger.signText(String(body.message)) };
      },
    }),
  ),
];

export { goodTyped };
