/** Browser wallets announce themselves, and report the requests that they do not carry out. */

import { expect } from 'chai';
import { RedbookError } from '../../src/client/index.ts';
import { readAnnouncement } from '../../src/web/wallets/announcement.ts';
import { connectWallet, watchAccount } from '../../src/web/wallets/browser-signer.ts';
import { isRefusal, walletFault } from '../../src/web/wallets/wallet-fault.ts';

const ADDRESS = `0x${'Ab'.repeat(20)}`;
const provider = { request: async () => [ADDRESS] };
const info = { uuid: '1', name: 'Alpha', icon: 'data:image/png;base64,AA==', rdns: 'test.alpha' };

describe('announcements of wallets', () => {
  it('are read as untrusted text: any name, icons only of image data, bounded lengths', () => {
    expect(readAnnouncement({ info, provider })).to.deep.equal({ ...info, provider });
    const iconOf = (icon: unknown) => readAnnouncement({ info: { ...info, icon }, provider })?.icon;
    for (const icon of [
      'https://evil.example/i.png',
      'javascript:alert(1)',
      'data:text/html,x',
      7,
      undefined,
    ]) {
      expect(iconOf(icon)).to.equal(null);
    }
    expect(iconOf(`data:image/png;base64,${'A'.repeat(200_000)}`)).to.equal(null);
    const markup = readAnnouncement({ info: { ...info, name: ' <img src=x onerror=alert(1)> ' }, provider });
    expect(markup?.name).to.equal('<img src=x onerror=alert(1)>');
    const long = readAnnouncement({ info: { ...info, name: 'x'.repeat(10_000) }, provider });
    expect(long?.name).to.have.length(61);
  });

  it('are ignored when they are invalid', () => {
    const strange = [null, 'text', {}, { info }, { info, provider: {} }, { provider }];
    const nameless = { info: { ...info, name: ' ' }, provider };
    for (const detail of [...strange, nameless]) expect(readAnnouncement(detail)).to.equal(null);
  });
});

describe('a browser wallet', () => {
  it('signs typed data that names the type of its domain, as JSON text, for the address as it gave it', async () => {
    const calls: [string, readonly unknown[] | undefined][] = [];
    const request = async ({ method, params }: { method: string; params?: readonly unknown[] }) => {
      calls.push([method, params]);
      return method === 'eth_requestAccounts' ? [ADDRESS] : '0x00';
    };
    const signer = await connectWallet({ ...info, provider: { request } });
    expect([signer.address, signer.prompts]).to.deep.equal([ADDRESS, true]);
    const types = { Login: [{ name: 'address', type: 'address' } as const] };
    const message = { address: ADDRESS, nonce: 'n', issuedAt: 'now' };
    const domain = { name: 'Redbook', version: '1' } as const;
    await signer.signTypedData({ domain, types, primaryType: 'Login', message });
    const [method, params = []] = calls[1]!;
    expect([method, params[0]]).to.deep.equal(['eth_signTypedData_v4', ADDRESS]);
    expect(JSON.parse(params[1] as string).types.EIP712Domain).to.deep.equal([
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
    ]);
  });

  it('is not signed in when it gives no account, or another one', async () => {
    const error = await connectWallet({ ...info, provider: { request: async () => [] } }).catch((one) => one);
    expect(walletFault(error, 'Alpha')).to.include('gave no account');
    const listeners: ((accounts: unknown) => void)[] = [];
    const told: string[] = [];
    const on = (_event: string, listener: (accounts: unknown) => void) => listeners.push(listener);
    watchAccount({ ...provider, on }, ADDRESS.toLowerCase(), {
      onOther: () => void told.push('other'),
      onNone: () => void told.push('none'),
    });
    listeners[0]?.([ADDRESS]);
    expect(told).to.deep.equal([]);
    for (const accounts of [[], [`0x${'cd'.repeat(20)}`], 'nonsense']) listeners[0]?.(accounts);
    expect(told).to.deep.equal(['none', 'other', 'none']);
  });

  it('is explained in plain words when it does not sign', () => {
    const fault = (code: number) => walletFault({ code, message: 'x' }, 'Alpha');
    expect(fault(4001)).to.include('refused in Alpha');
    expect(fault(-32002)).to.include('A prompt is open already in your wallet');
    for (const code of [4200, -32601]) expect(fault(code)).to.include('cannot sign typed data');
    expect(walletFault({ message: 'y'.repeat(1_000) }, 'Alpha')).to.have.length.below(250);
    expect(walletFault(undefined, 'Alpha')).to.include('no reason');
    const wrapped = new RedbookError({
      code: 'SIGNING_FAILED',
      message: 'x',
      outcome: 'refused',
      cause: { code: 4001 },
    });
    expect([isRefusal(wrapped), isRefusal({ code: -32002 })]).to.deep.equal([true, false]);
  });
});
