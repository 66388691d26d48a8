/**
 * `npm run -s proofs -- schema`: writes the schema of a migrated database to `test/ledger/schema.sql`, and its objects to
 * `src/ledger/checks/schema-objects.ts`. Run it after a change of the migrations.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../../src/ledger/migrate.ts';
import { schemaModuleOf, schemaOf } from '../../ledger/schema-text.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';

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
