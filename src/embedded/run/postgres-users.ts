/** Makes the users of the embedded Postgres, so that the service is no superuser. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { postgresUrl } from './postgres.ts';

const USERS = new URL('../../../k8s/components/postgres-users/users.sql', import.meta.url);
const OWNER = 'redbook_owner';

/**
 * @param password of the superuser
 * @returns the URL of the owner of the tables, whose password does not give that of the superuser away
 */
export async function makePostgresUsers(port: number, password: string): Promise<string> {
  const owners = createHash('sha256').update(`${OWNER} ${password}`).digest('hex');
  const client = new pg.Client({ connectionString: postgresUrl(port, password) });
  await client.connect();
  try {
    await client.query(readFileSync(USERS, 'utf8'));
    await client.query(`alter role ${OWNER} password '${owners}'`);
  } finally {
    await client.end();
  }
  return postgresUrl(port, owners, OWNER);
}
