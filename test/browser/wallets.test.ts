/**
 * Proves that the injected wallet signs as MetaMask does, compared with an independent signer, and that a missing
 * domain type is detected.
 */

import { expect } from 'chai';
import { verifyTypedData } from 'ethers';
import { createWallet } from './wallets.ts';

const TYPED_DATA = {
  domain: { name: 'Redbook', version: '1' },
  types: {
    Login: [
      { name: 'address', type: 'address' },
      { name: 'nonce', type: 'string' },
    ],
  },
  primaryType: 'Login',
};
const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
];

describe('the injected wallet', () => {
  const wallet = createWallet({ accounts: 2 });
  const [address] = wallet.addresses;
  const message = { address: address!, nonce: 'abc' };
  const signerOf = async (types: object): Promise<string> => {
    const payload = JSON.stringify({ ...TYPED_DATA, types, message });
    const signature = (await wallet.answer('eth_signTypedData_v4', [address, payload])) as string;
    return verifyTypedData(TYPED_DATA.domain, TYPED_DATA.types, message, signature);
  };

  it('signs a payload that lists the type of its domain', async () => {
    expect(await signerOf({ EIP712Domain: DOMAIN_TYPE, ...TYPED_DATA.types })).to.equal(address);
  });

  it('signs another digest for a payload that does not list it', async () => {
    expect(await signerOf(TYPED_DATA.types)).to.not.equal(address);
  });

  it('ends signatures with 0 or 1 where it is told to', async () => {
    const old = createWallet({ recoveryBase: 0 });
    const payload = JSON.stringify({
      ...TYPED_DATA,
      types: { EIP712Domain: DOMAIN_TYPE, ...TYPED_DATA.types },
      message: { address: old.addresses[0], nonce: 'abc' },
    });
    const signature = (await old.answer('eth_signTypedData_v4', [old.addresses[0], payload])) as string;
    expect(signature.slice(-2)).to.be.oneOf(['00', '01']);
  });

  it('signs only for accounts that it holds', async () => {
    const stranger = createWallet().addresses[0];
    const signing = wallet.answer('eth_signTypedData_v4', [stranger, '{}']);
    const error = await signing.then(
      () => undefined,
      (reason: { code: number }) => reason,
    );
    expect(error?.code).to.equal(-32602);
  });
});
