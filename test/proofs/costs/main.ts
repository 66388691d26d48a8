/** `npm run proofs -- costs` plants what made orders costly, each of which the test of their costs must find. */

import { proveByTests } from '../../planted/by-tests.ts';

await proveByTests('costs', 'test/proofs/http/order-costs.test.ts');
