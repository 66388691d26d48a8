/**
 * `npm run -s proofs -- schema`: writes the schema of a migrated database to `test/ledger/schema.sql`, its objects to
 * `src/ledger/checks/schema-objects.ts`, and the table of checks to `docs/audit.md`. Run it after a change of the
 * migrations or of a check's definition.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../../src/ledger/migrate.ts';
import { AUDIT_PAGE, withChecks } from '../../books/checks-table.ts';
import { schemaModuleOf, schemaOf } from '../../ledger/schema-text.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';

writeFileSync(AUDIT_PAGE, withChecks(readFileSync(AUDIT_PAGE, 'utf8')));
const folder = mkdtempSync(join(tmpdir(), 'redbook-schema-'));
const postgres = await startPostgresServer({ folder, durable: false });
try {
  await migrate(postgres.url);
  writeFileSync(new URL('../../ledger/schema.sql', import.meta.url), await schemaOf(postgres.url));
  const objects = fileURLToPath(new URL('../../../src/ledger/checks/schema-objects.ts', import.meta.url));
  writeFileSync(objects, await schemaModuleOf(postgres.url));
  spawnSync('npx', ['biome', 'format', '--write', objects], { stdio: 'inherit' });
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
