/**
 * `npm run -s proofs -- schema`: writes the schema of a migrated database to `test/ledger/schema.sql`, and digests of its
 * guards to `src/ledger/checks/schema-digests.ts`. Run it after adding a migration.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../src/ledger/migrate.ts';
import { schemaDigestsOf, schemaOf } from '../../ledger/schema-text.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'redbook-schema-'));
const postgres = await startPostgresServer({ folder, durable: false });
try {
  await migrate(postgres.url);
  writeFileSync(new URL('../../ledger/schema.sql', import.meta.url), await schemaOf(postgres.url));
  const digests = new URL('../../../src/ledger/checks/schema-digests.ts', import.meta.url);
  writeFileSync(digests, await schemaDigestsOf(postgres.url));
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
