/** `npm run proofs -- trimming` plants a fault of what trimming keeps, which the tests of trimming must find. */

import { proveByTests } from '../../planted/by-tests.ts';

await proveByTests('trimming', 'test/engine/trim.test.ts');
