/** Proves that a ledger connects over TLS only under the certificate authority in its URL. */

import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openLedger } from '../../src/ledger/index.ts';
import { makeCertificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { query } from './tables.ts';

describe('a ledger behind TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redbook-postgres-tls-'));
  const { certificate, key } = makeCertificate();
  let server: PostgresServer;

  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  /** @param authority PEM */
  const urlUnder = (authority: string): string => {
    const url = new URL(server.url);
    url.searchParams.set('sslmode', 'verify-full');
    url.searchParams.set('sslrootcert', file('authority.crt', authority));
    return url.href;
  };

  before(async () => {
    const data = mkdtempSync(join(tmpdir(), 'redbook-postgres-'));
    server = await startPostgresServer({ folder: data, durable: false });
    // The server's user may differ from ours.
    const { uid, gid } = statSync(join(data, 'postgres/data'));
    chmodSync(folder, 0o755);
    const settings = {
      ssl_cert_file: file('server.crt', certificate),
      ssl_key_file: file('server.key', key),
    };
    for (const [name, path] of Object.entries(settings)) {
      chownSync(path, uid, gid);
      await query(server.url, `ALTER SYSTEM SET ${name} = '${path}'`);
    }
    await query(server.url, 'ALTER SYSTEM SET ssl = on');
    await query(server.url, 'SELECT pg_reload_conf()');
    const serves = (): Promise<boolean> =>
      query(urlUnder(certificate), 'SELECT 1').then(
        () => true,
        () => false,
      );
    await eventually('it has read its settings', serves);
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is reached under the authority that its URL names, and rejected under any other', async () => {
    const databaseUrl = urlUnder(certificate);
    const [found] = await query(databaseUrl, 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    expect(found).to.deep.equal({ ssl: true });
    const ledger = openLedger({ databaseUrl });
    await ledger.migrate();
    expect(await ledger.settlement.cursor()).to.include({ sequence: 0 });
    await ledger.close();

    const other = openLedger({ databaseUrl: urlUnder(makeCertificate().certificate) });
    const outcome = await other.settlement.cursor().catch((error: Error) => error);
    expect(outcome)
      .to.be.instanceOf(Error)
      .with.property('cause')
      .with.property('message')
      .match(/certificate/);
    await other.close();
  });
});
