/** Tests that auditors read of each check what its definition says. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { AUDIT_PAGE, withChecks } from './checks-table.ts';

describe('books: the table of checks in docs/audit.md', () => {
  it('is what the definitions of the checks say', () => {
    const page = readFileSync(AUDIT_PAGE, 'utf8');
    expect(page, 'run `npm run -s proofs -- schema`').to.equal(withChecks(page));
  });
});
