/** Tests the harness itself: a visit records each kind of offence, and offences fail its scenario. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { findChromium } from './find-chromium.mjs';
import { withVisits } from './visit.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; connect-src *; img-src data:; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

/** Scripts, each with the offence that it causes. */
const OFFENDING: Readonly<Record<string, readonly [script: string, told: RegExp]>> = {
  console: ['console.error("broken")', /^console: broken/m],
  uncaught: ['throw new Error("thrown")', /^uncaught: Error: thrown/m],
  rejected: ['Promise.reject(new Error("rejected"))', /^uncaught: Error: rejected/m],
  request: [
    'fetch("http://elsewhere.test/x").catch(() => undefined)',
    /^request to another host: http:\/\/elsewhere\.test\/x/m,
  ],
  socket: [
    'new WebSocket("ws://elsewhere.test/ws")',
    /^request to another host: ws:\/\/elsewhere\.test\/ws/m,
  ],
  style: ['document.documentElement.setAttribute("style", "color: red")', /^policy: style-src-attr/m],
  sink: [
    'try { document.documentElement.innerHTML = "<p>x</p>" } catch {}',
    /^policy: require-trusted-types-for/m,
  ],
};
const QUIET = 'console.log("fine")';

describe('a visit of the browser tests', () => {
  let server: Server;
  let url: string;
  before(async () => {
    server = createServer((request, response) => {
      const [, script] = /^\/(\w+)\.js$/.exec(request.url ?? '') ?? [];
      response.setHeader('content-security-policy', POLICY);
      response.setHeader('content-type', script ? 'text/javascript' : 'text/html');
      if (script) return response.end(OFFENDING[script]?.[0] ?? QUIET);
      const scripts = request.url === '/offending' ? Object.keys(OFFENDING) : [request.url!.slice(1)];
      const tags = scripts.map((name) => `<script src="/${name}.js"></script>`);
      return response.end(`<!doctype html><link rel="icon" href="data:,">${tags.join('')}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  it('fails its scenario for everything that offends', async () => {
    let message = '';
    await withVisits(async (open) => {
      const { offences } = await open(`${url}/offending`);
      // One kind of offence may be reported twice before another is reported once.
      const areTold = (): boolean =>
        Object.values(OFFENDING).every(([, told]) => told.test(offences().join('\n')));
      for (let tries = 0; tries < 200 && !areTold(); tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 20));
    }).catch((error: Error) => {
      message = error.message;
    });
    for (const [, told] of Object.values(OFFENDING)) expect(message).to.match(told);
  });

  it('passes when nothing offends, and for what the scenario tolerates', () =>
    withVisits(async (open) => {
      await open(`${url}/quiet`);
      const { tolerate } = await open(`${url}/console`);
      tolerate(/broken/);
    }));

  it('finds no Chromium when CHROME_BIN names none and PATH has none', () => {
    expect(findChromium({ CHROME_BIN: '/nowhere/chromium', PATH: process.env.PATH })).to.equal(undefined);
    expect(findChromium({ PATH: '/nowhere' })).to.equal(undefined);
  });
});
