/** `npm run proofs -- copies` plants each fault of the copies, which the tests of the rounds and of keepers must find. */

import { proveByTests } from '../../planted/by-tests.ts';

await proveByTests('copies', 'test/proofs/engine/copies/rounds.test.ts');
await proveByTests('leading', 'test/roles/leading.test.ts');
await proveByTests('keepers', 'test/proofs/roles/copies-keeper.test.ts');
await proveByTests('leaving', 'test/proofs/roles/leaving-copies.test.ts');
