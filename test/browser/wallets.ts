/**
 * Browser wallets: EIP-1193 providers announced by EIP-6963. Keys and signatures stay in Node. A wallet signs the typed
 * data unchanged, like MetaMask: without `types.EIP712Domain` it hashes an empty domain.
 */

import type { TypedDataDomain, TypedDataField } from 'ethers';
import {
  computeAddress,
  concat,
  hexlify,
  keccak256,
  randomBytes,
  SigningKey,
  TypedDataEncoder,
  toUtf8Bytes,
} from 'ethers';
import type { BrowserContext, Page } from 'playwright-core';
import { ethersSigner, type Signer } from '../auth/signers.ts';

export interface WalletOptions {
  readonly name?: string;
  /** A data URI. */
  readonly icon?: string;
  readonly uuid?: string;
  readonly accounts?: number;
  /** Hardware wallets may end a signature with 0 or 1 instead of 27 or 28. */
  readonly recoveryBase?: 0 | 27;
}

/** Answers one call of the wallet. */
type Answer = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface BrowserWallet {
  readonly info: {
    readonly uuid: string;
    readonly name: string;
    readonly icon: string;
    readonly rdns: string;
  };
  /** With checksums, the selected account first. */
  readonly addresses: readonly string[];
  /** Methods that the page called, in order. */
  readonly calls: string[];
  /** Overrides the wallet's answers; `usual` returns the original answer. Undefined removes the override. */
  override: ((method: string, params: readonly unknown[], usual: Answer) => Promise<unknown>) | undefined;
  answer: Answer;
  /** The selected account, for calls without a browser. */
  readonly signer: Signer;
}

/** An error of EIP-1193 or JSON-RPC. */
export class WalletError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const refusal = (): WalletError => new WalletError(4001, 'User rejected the request.');
export const promptPending = (): WalletError =>
  new WalletError(-32002, 'Request of type "wallet_requestPermissions" already pending. Please wait.');
export const noSuchMethod = (method: string): WalletError =>
  new WalletError(4200, `The method "${method}" is not supported.`);

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><circle cx="16" cy="16" r="14" fill="#e8831d"/></svg>',
)}`;

interface TypedData {
  readonly types: Readonly<Record<string, TypedDataField[]>>;
  readonly primaryType: string;
  readonly domain: TypedDataDomain;
  readonly message: Readonly<Record<string, unknown>>;
}

const typeHash = (text: string): string => keccak256(toUtf8Bytes(text));

/** @returns the EIP-712 digest of a payload, with the domain hashed by the fields that the payload lists */
function typedDataDigest({ types, domain, message }: TypedData): string {
  const { EIP712Domain = [], ...others } = types;
  const domainHash =
    EIP712Domain.length === 0
      ? keccak256(typeHash('EIP712Domain()'))
      : TypedDataEncoder.from({ EIP712Domain }).hash(pick(domain, EIP712Domain));
  return keccak256(concat(['0x1901', domainHash, TypedDataEncoder.from(others).hash({ ...message })]));
}

const pick = (domain: TypedDataDomain, fields: readonly TypedDataField[]): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name }) => [name, domain[name as keyof TypedDataDomain]]));

function sign(key: SigningKey, digest: string, recoveryBase: 0 | 27): string {
  const { r, s, yParity } = key.sign(digest);
  return concat([r, s, new Uint8Array([recoveryBase + yParity])]);
}

const CHAIN_ID = '0x1';

export function createWallet(options: WalletOptions = {}): BrowserWallet {
  const { name = 'Test Wallet', icon = ICON, accounts = 1, recoveryBase = 27 } = options;
  const keys = Array.from({ length: accounts }, () => new SigningKey(hexlify(randomBytes(32))));
  const addresses = keys.map((key) => computeAddress(key.publicKey));
  const keyOf = (address: unknown): SigningKey => {
    const index = addresses.findIndex((own) => own.toLowerCase() === String(address).toLowerCase());
    if (index < 0) throw new WalletError(-32602, 'Invalid parameters: must provide an Ethereum address.');
    return keys[index]!;
  };
  const usual: Answer = async (method, params) => {
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return addresses.slice(0, 1).map((address) => address.toLowerCase());
      case 'eth_chainId':
        return CHAIN_ID;
      case 'eth_signTypedData_v4': {
        const [address, payload] = params;
        if (typeof payload !== 'string') throw new WalletError(-32602, 'The payload must be a JSON string.');
        return sign(keyOf(address), typedDataDigest(JSON.parse(payload) as TypedData), recoveryBase);
      }
      default:
        throw noSuchMethod(method);
    }
  };
  const wallet: BrowserWallet = {
    info: { uuid: options.uuid ?? crypto.randomUUID(), name, icon, rdns: 'test.redbook' },
    addresses,
    signer: ethersSigner(keys[0]!.privateKey),
    calls: [],
    override: undefined,
    answer: (method, params) => {
      wallet.calls.push(method);
      return wallet.override ? wallet.override(method, params, usual) : usual(method, params);
    },
  };
  return wallet;
}

type Outcome =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } };

/** Wallets that a page gets. */
interface Injected {
  readonly infos: readonly BrowserWallet['info'][];
  /** False for a browser that only puts its wallet into the page. */
  readonly isAnnounced: boolean;
}

/** Runs in the page and creates a provider for each wallet. */
function announceWallets({ infos, isAnnounced }: Injected): void {
  const call = (window as unknown as { redbookTestWallet(...args: unknown[]): Promise<Outcome> })
    .redbookTestWallet;
  const listeners = new Map<string, ((value: unknown) => void)[]>();
  const providerOf = (uuid: string): object => ({
    async request({ method, params = [] }: { method: string; params?: unknown[] }) {
      const outcome = await call(uuid, method, params);
      if ('error' in outcome) throw Object.assign(new Error(outcome.error.message), outcome.error);
      return outcome.result;
    },
    on(event: string, listener: (value: unknown) => void) {
      const key = `${uuid} ${event}`;
      listeners.set(key, [...(listeners.get(key) ?? []), listener]);
    },
    removeListener(event: string, listener: (value: unknown) => void) {
      const key = `${uuid} ${event}`;
      listeners.set(
        key,
        (listeners.get(key) ?? []).filter((one) => one !== listener),
      );
    },
  });
  Object.assign(window, {
    redbookTestEmit: (uuid: string, event: string, value: unknown) => {
      for (const listener of listeners.get(`${uuid} ${event}`) ?? []) listener(value);
    },
  });
  if (!isAnnounced) {
    Object.assign(window, { ethereum: providerOf(infos[0]!.uuid) });
    return;
  }
  const details = infos.map((info) =>
    Object.freeze({ info: Object.freeze({ ...info }), provider: Object.freeze(providerOf(info.uuid)) }),
  );
  const announce = (): void => {
    for (const detail of details) dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  };
  addEventListener('eip6963:requestProvider', announce);
  announce();
}

export async function injectWallets(
  context: BrowserContext,
  wallets: readonly BrowserWallet[],
  isAnnounced = true,
): Promise<void> {
  if (wallets.length === 0) return;
  await context.exposeBinding(
    'redbookTestWallet',
    async (_source, uuid: string, method: string, params: unknown[]): Promise<Outcome> => {
      const wallet = wallets.find(({ info }) => info.uuid === uuid)!;
      try {
        return { result: await wallet.answer(method, params) };
      } catch (error) {
        if (!(error instanceof WalletError)) throw error;
        return { error: { code: error.code, message: error.message } };
      }
    },
  );
  await context.addInitScript(announceWallets, { infos: wallets.map(({ info }) => info), isAnnounced });
}

/** Emits an event of the provider in the page, such as `accountsChanged`. */
export const emit = (page: Page, wallet: BrowserWallet, event: string, value: unknown): Promise<void> =>
  page.evaluate(
    ([uuid, name, payload]) => {
      (window as unknown as { redbookTestEmit(...args: unknown[]): void }).redbookTestEmit(
        uuid,
        name,
        payload,
      );
    },
    [wallet.info.uuid, event, value] as const,
  );
