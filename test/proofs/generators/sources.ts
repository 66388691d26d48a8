/** The files added to the generated clients: settings of the generators, and programs that use the clients. */

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    noEmit: true,
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    allowImportingTsExtensions: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
  },
});

/** Declares the environment of every program, without Node's types. */
const ENVIRONMENT = `declare const process: { readonly env: Readonly<Record<string, string>> };
const { BASE = '', TOKEN = '' } = process.env;
const headers = { authorization: \`Bearer \${TOKEN}\` };
`;

/** A resting limit order with many members. Each client gives it its own id. */
const orderOf = (id: string): string =>
  `{ market: 'ETH/USDC', side: 'buy', type: 'limit', price: 1000, size: '0.01', clientOrderId: '${id}', timeInForce: 'GTC', postOnly: true }`;

/** An invalid order that has an id to look up. */
const HELD = `{ market: 'ETH/USDC', side: 'hold' as const, type: 'limit' as const, size: 1, clientOrderId: 'held' }`;

export const SOURCES: Readonly<Record<string, string>> = {
  'tsconfig.json': TSCONFIG,

  'use-orval-fetch.ts': `import { placeOrder } from '../../generators/orval-fetch/client.ts';
${ENVIRONMENT}
const call = globalThis.fetch;
globalThis.fetch = (path, options) => call(BASE + String(path), options);
const reply = await placeOrder(${orderOf('orval-fetch')}, { headers });
if (reply.status !== 200) throw new Error(JSON.stringify(reply));
const held = ${HELD};
// @ts-expect-error: a side of which there is none
export const refused: Parameters<typeof placeOrder>[0] = held;
console.log(\`placed: \${reply.data.status}\`);
`,

  'use-orval-zod.ts': `import { placeOrderBody, placeOrderResponse } from '../../generators/orval-zod/schemas.ts';
${ENVIRONMENT}
const order = ${orderOf('orval-zod')};
const body = placeOrderBody.parse(order);
const lost = Object.keys(order).filter((member) => !(member in body));
if (lost.length > 0) throw new Error(\`the schema drops \${lost.join(', ')}\`);
for (const wrong of [${HELD}, { ...order, side: 'hold' }, { ...order, quoteAmount: 1 }])
  if (placeOrderBody.safeParse(wrong).success) throw new Error(\`the schema takes \${JSON.stringify(wrong)}\`);
const reply = await fetch(BASE + '/v1/orders', {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const { status } = placeOrderResponse.parse(await reply.json());
console.log(\`placed: \${status}\`);
`,

  'use-hey-api.ts': `import { client } from '../../generators/hey-api/client.gen';
import { placeOrder } from '../../generators/hey-api/sdk.gen';
${ENVIRONMENT}
client.setConfig({ baseUrl: BASE });
const { data, error } = await placeOrder({ body: ${orderOf('hey-api')}, headers });
if (data === undefined) throw new Error(JSON.stringify(error));
const held = ${HELD};
// @ts-expect-error: a side of which there is none
export const refused: Parameters<typeof placeOrder>[0] = { body: held };
console.log(\`placed: \${data.status}\`);
`,

  'modelina.mjs': `import { readFileSync } from 'node:fs';
import { TypeScriptFileGenerator } from '@asyncapi/modelina';

const generator = new TypeScriptFileGenerator({
  modelType: 'interface',
  enumType: 'union',
  rawPropertyNames: true,
});
const document = JSON.parse(readFileSync('asyncapi.json', 'utf8'));
const models = await generator.generateToFiles(document, 'modelina', { exportType: 'named' }, true);
const names = models.map(({ modelName }) => modelName.toLowerCase());
const twice = names.filter((name, at) => names.indexOf(name) !== at);
if (twice.length > 0) throw new Error('two models of one name: ' + twice.join(', '));
`,

  'use-modelina.ts': `import { frame } from '../../generators/frame.ts';
const { type, symbol, tf, book, trades } = frame;
console.log(\`\${type} \${symbol} \${tf}: \${book.bids.length} bids, \${trades.length} trades\`);
`,
};
