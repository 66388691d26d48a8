/**
 * `npm run -s proofs -- order-formats`: writes the formats of the scripts to `lua/include/order_formats.lua`, and
 * functions that follow from tables of fields to `src/redis/generated.ts`. Run it after a change of `src/order/fields.ts` or of a layout of the engine.
 */

import { writeFileSync } from 'node:fs';
import { generatedSource } from '../../engine/generated.ts';
import { orderFormats } from '../../engine/order-formats.ts';

writeFileSync(new URL('../../../lua/include/order_formats.lua', import.meta.url), orderFormats());
writeFileSync(new URL('../../../src/redis/generated.ts', import.meta.url), generatedSource());
