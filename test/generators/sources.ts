/** The files beside the generated clients: settings of the generators, and programs that use what they made. */

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    ...{ target: 'es2022', module: 'esnext', moduleResolution: 'bundler', noEmit: true },
    ...{ lib: ['es2023', 'dom', 'dom.iterable'], types: [], allowImportingTsExtensions: true },
    ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  },
});

/** Of every program: its environment, without the types of Node. */
const ENVIRONMENT = `declare const process: { readonly env: Readonly<Record<string, string>> };
const { BASE = '', TOKEN = '' } = process.env;
const headers = { authorization: \`Bearer \${TOKEN}\` };
`;

/** A limit order that rests; each client gives it an id of its own. */
const orderOf = (id: string): string =>
  `{ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1000, size: 0.01, clientOrderId: '${id}' }`;

export const SOURCES: Readonly<Record<string, string>> = {
  'tsconfig.json': TSCONFIG,

  'use-orval-fetch.ts': `import { placeOrder } from './orval-fetch/client.ts';
${ENVIRONMENT}
const call = globalThis.fetch;
globalThis.fetch = (path, options) => call(BASE + String(path), options);
const reply = await placeOrder(${orderOf('orval-fetch')}, { headers });
if (reply.status !== 200) throw new Error(JSON.stringify(reply));
const { status, fillCount } = reply.data;
console.log(\`placed: \${status}, \${fillCount} fills\`);
`,

  'use-orval-zod.ts': `import { placeOrderBody, placeOrderResponse } from './orval-zod/schemas.ts';
${ENVIRONMENT}
const body = placeOrderBody.parse(${orderOf('orval-zod')});
const reply = await fetch(BASE + '/v1/orders', {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const { status } = placeOrderResponse.parse(await reply.json());
console.log(\`placed: \${status}\`);
`,

  'use-hey-api.ts': `import { client } from './hey-api/client.gen';
import { placeOrder } from './hey-api/sdk.gen';
${ENVIRONMENT}
client.setConfig({ baseUrl: BASE });
const { data, error } = await placeOrder({ body: ${orderOf('hey-api')}, headers });
if (data === undefined) throw new Error(JSON.stringify(error));
console.log(\`placed: \${data.status}\`);
`,

  'modelina.mjs': `import { readFileSync } from 'node:fs';
import { TypeScriptFileGenerator } from '@asyncapi/modelina';

const generator = new TypeScriptFileGenerator({ modelType: 'interface', enumType: 'union' });
const document = JSON.parse(readFileSync('asyncapi.json', 'utf8'));
const models = await generator.generateToFiles(document, 'modelina', { exportType: 'named' }, true);
const names = models.map(({ modelName }) => modelName.toLowerCase());
const twice = names.filter((name, at) => names.indexOf(name) !== at);
if (twice.length > 0) throw new Error('two models of one name: ' + twice.join(', '));
`,

  'use-modelina.ts': `import type { MarketFrame } from './modelina/MarketFrame';
declare const process: { readonly env: Readonly<Record<string, string>> };
const frame: MarketFrame = JSON.parse(process.env.FRAME ?? '');
const { tf, book, trades } = frame;
console.log(\`a frame of \${tf}: \${book.bids.length} bids, \${trades.length} trades\`);
`,
};
