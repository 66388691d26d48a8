/** `GET /v1/status`, without a session. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import request from 'supertest';
import { openLedger } from '../../src/ledger/index.ts';
import { instead } from '../support/instead.ts';
import { type Link, openLink } from '../support/link.ts';
import { type Fixture, openFixture, type Replica } from './fixture.ts';

const NOTE = { sequence: 7, checks: 41, differences: 2, failedChecks: ['a check', 'another'] };

describe('GET /v1/status', () => {
  let fixture: Fixture;
  let link: Link;

  before(async () => {
    fixture = await openFixture();
    link = await openLink(fixture.databaseUrl);
  });
  after(async () => {
    link.close();
    await fixture.close();
  });

  const ask = async ({ app }: Replica) => {
    const { status, body } = await request(app).get('/v1/status');
    expect(status).to.equal(200);
    return body;
  };

  it('returns the time, the pause, the required terms and the last reconcile', async () => {
    const beforeMs = Date.now();
    const body = await ask(await fixture.replica());
    expect(Object.keys(body)).to.deep.equal(['time', 'trading', 'termsVersion', 'reconcile']);
    expect(Date.parse(body.time)).to.be.within(beforeMs, Date.now());
    expect(body).to.include({ trading: 'active', termsVersion: null, reconcile: null });

    await fixture.engine.switches.pause();
    await fixture.engine.switches.requireTerms('2026-01');
    await fixture.ledger.checks.noteReconcile({ ...NOTE, sequence: 6 });
    await fixture.ledger.checks.noteReconcile(NOTE);
    const { finishedAtMs } = (await fixture.ledger.checks.lastReconcile())!;
    const { time: _, ...changed } = await ask(await fixture.replica());
    expect(changed).to.deep.equal({
      trading: 'paused',
      termsVersion: '2026-01',
      reconcile: { at: new Date(finishedAtMs).toISOString(), event: 7, checks: 41, differences: 2 },
    });
    await fixture.engine.switches.resume();
    await fixture.engine.switches.requireTerms(null);
  });

  it('reads each store at most once a second, whether the read fails or not', async () => {
    for (const ledgerUrl of [fixture.databaseUrl, 'postgres://127.0.0.1:1/nothing']) {
      const { ledger: real, engine: opened } = (await fixture.replica()).services;
      const asked = ledgerUrl === fixture.databaseUrl ? real : openLedger({ databaseUrl: ledgerUrl });
      let states = 0;
      let reconciles = 0;
      const state: typeof opened.reads.state = () => {
        states += 1;
        return opened.reads.state();
      };
      const engine = { ...opened, reads: instead(opened.reads, { state }) };
      const ledger = {
        ...real,
        checks: instead(real.checks, {
          lastReconcile: () => {
            reconciles += 1;
            return asked.checks.lastReconcile();
          },
        }),
      };
      const replica = await fixture.replica({}, { engine, ledger });
      const beganAt = performance.now();
      for (let round = 0; round < 10; round += 1) {
        await Promise.all(Array.from({ length: 10 }, () => ask(replica)));
      }
      const maxReads = 1 + Math.floor((performance.now() - beganAt) / 1_000);
      expect(states).to.be.within(1, maxReads);
      expect(reconciles).to.be.within(1, maxReads);
      if (asked !== real) await asked.close();
    }
  });

  it('returns what was read last while Postgres hangs or is away, and null before anything was read', async () => {
    const ledger = openLedger({ databaseUrl: link.url });
    try {
      const replica = await fixture.replica({}, { ledger });
      const { reconcile } = await ask(replica);
      expect(reconcile).to.include({ event: NOTE.sequence });
      link.stall();
      await sleep(1_000); // the read before is shared as long
      expect((await ask(replica)).reconcile).to.deep.equal(reconcile);
      link.cut();
      const newcomer = await fixture.replica({}, { ledger });
      expect((await ask(newcomer)).reconcile).to.equal(null);
    } finally {
      await ledger.close();
    }
  });

  it('returns SERVICE_UNAVAILABLE while the engine is not open', async () => {
    const { engine } = (await fixture.replica()).services;
    const lifecycle = instead(engine.lifecycle, { isOpen: () => false });
    const { app } = await fixture.replica({}, { engine: { ...engine, lifecycle } });
    const { status, body } = await request(app).get('/v1/status');
    expect([status, body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE']);
  });
});
