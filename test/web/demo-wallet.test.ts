/** The demo wallet signs what ethers signs, so that the service takes it for any other wallet. */

import { expect } from 'chai';
import { TypedDataEncoder, verifyTypedData, Wallet } from 'ethers';
import { signatureFault } from '../../src/auth/signature.ts';
import { openDemoWallet, typedDataDigest } from '../../src/web/wallets/demo-wallet.ts';

const LOGIN = {
  domain: { name: 'Redbook – ümlaut', version: '1' },
  types: {
    Login: [
      { name: 'address', type: 'address' },
      { name: 'nonce', type: 'string' },
      { name: 'issuedAt', type: 'string' },
    ],
  },
  primaryType: 'Login',
};

const challengeOf = (address: string, nonce = 'f'.repeat(32)) => ({
  ...LOGIN,
  message: { address, nonce, issuedAt: '2026-01-05T09:30:00.000Z' },
});

describe('the demo wallet', () => {
  it('has the same address and digest as ethers, and signs for that address, with 20 random keys', () => {
    for (let round = 0; round < 20; round += 1) {
      const wallet = openDemoWallet();
      const other = new Wallet(wallet.privateKey);
      expect(wallet.address).to.equal(other.address.toLowerCase());
      const challenge = challengeOf(wallet.address, `nonce ${round}`);
      const { domain, types, message } = challenge;
      expect(`0x${Buffer.from(typedDataDigest(challenge)).toString('hex')}`).to.equal(
        TypedDataEncoder.hash(domain, types, message),
      );
      const signature = wallet.signTypedData(challenge);
      expect(signatureFault(signature), signature).to.equal(undefined);
      expect(verifyTypedData(domain, types, message, signature)).to.equal(other.address);
    }
  });

  it('is restored from its exported key', () => {
    const wallet = openDemoWallet();
    expect(openDemoWallet(wallet.privateKey).address).to.equal(wallet.address);
    expect(() => openDemoWallet('0x00')).to.throw();
    expect(() => openDemoWallet(`0x${'0'.repeat(64)}`)).to.throw();
  });

  it('rejects a field of a type that it cannot encode', () => {
    const wallet = openDemoWallet();
    const challenge = {
      ...challengeOf(wallet.address),
      types: { Login: [{ name: 'nonce', type: 'uint256' }] },
    };
    expect(() => wallet.signTypedData(challenge)).to.throw('nonce of the type uint256');
  });
});
