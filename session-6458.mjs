import { Wallet } from 'ethers';

const base = process.env.BASE ?? 'http://localhost:8080';
const post = async (path, body, token) => {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  return (await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};

const wallet = Wallet.createRandom();
const { typedData } = await post('/v1/auth/challenge', { address: wallet.address });
const signature = await wallet.signTypedData(typedData.domain, typedData.types, typedData.message);
const { token } = await post('/v1/auth/verify', { address: wallet.address, signature });
console.log(`WALLET=${wallet.address}\nTOKEN=${token}`);
