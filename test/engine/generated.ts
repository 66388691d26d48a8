/** Writes `src/redis/generated.ts`: the code of functions that follow from tables of fields. */

import '../../src/engine/cancelling-call.ts';
import '../../src/engine/placing.ts';
import '../../src/engine/state.ts';
import '../../src/http/replies/order.ts';
import '../../src/ledger/changes.ts';
import '../../src/ledger/order-rows.ts';
import '../../src/ledger/orders.ts';
import { codesByName } from '../../src/redis/generate.ts';

const HEAD = `// biome-ignore-all lint/suspicious/noExplicitAny: each function is of the type that its table gives it
// Functions that follow from tables of fields. Written by \`npm run -s proofs -- order-formats\`; a test compares them.

export const GENERATED: Readonly<Record<string, (...used: any[]) => any>> = {
`;

export const generatedSource = (): string =>
  `${HEAD}${[...codesByName]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, code]) => `  ${name}: ${code().replaceAll('\n', '\n  ')},\n`)
    .join('')}};\n`;
