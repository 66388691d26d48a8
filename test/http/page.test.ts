/** Tests how the trading page is served. Its behaviour in a browser is tested elsewhere. */

import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import request, { type Response } from 'supertest';
import { type Fixture, openFixture } from './fixture.ts';

const ROOT = new URL('../../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('dist/web/manifest.json', ROOT), 'utf8')) as {
  packages: string[];
  files: Record<string, string>;
};
const built = (name: string): Buffer => readFileSync(new URL(`dist/web/${name}`, ROOT));

/** The desk is another page, on another port. */
const isOfDesk = (name: string): boolean => name.startsWith('desk.');

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "connect-src 'self' wss://redbook.example",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

describe('the trading page', () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await openFixture();
  });
  after(() => fixture.close());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    request(fixture.app)
      .get(path)
      .set(headers)
      .then((reply) => reply);
  /** supertest gives pictures as bytes. */
  const textOf = ({ text, body }: Response): string => text ?? (body as Buffer).toString();
  /** Addresses in the document, as a browser at `path` resolves them. */
  const addresses = (html: string, path: string): URL[] =>
    [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, address]) => new URL(address!, `http://page${path}`),
    );

  describe('the document', () => {
    const cases: [path: string, status: number][] = [
      ['/', 200],
      ['/trade/ETH_USDC', 200],
      ['/trade/eth_usdc', 200],
      ['/trade/NOPE_USDC', 404],
      ['/trade/%3Cscript%3E', 404],
    ];
    for (const [path, status] of cases)
      it(`returns ${status} at ${path}`, async () => {
        const reply = await get(path);
        expect([reply.status, reply.headers['content-type'], reply.headers['cache-control']]).to.deep.equal([
          status,
          'text/html; charset=utf-8',
          'no-store',
        ]);
        expect(reply.text).to.match(/^<!doctype html>\n<html lang="en">/);
        expect(reply.text).to.include('<div id="page" dir="ltr"></div>').and.include('<noscript>');
        expect(reply.text).to.include('<meta name="color-scheme" content="light dark">');
        expect(reply.text).to.include('<meta name="viewport" content="width=device-width, initial-scale=1">');
        expect(reply.text).to.not.match(/<style|<script>|style="|\son\w+=/);
        const head = await request(fixture.app).head(path);
        expect([head.status, head.headers['content-length'], head.text ?? '']).to.deep.equal([
          status,
          reply.headers['content-length'],
          '',
        ]);
      });

    for (const prefix of ['', '/below/a/proxy'])
      it(`links to existing files, relative to ${prefix || 'the host'}`, async () => {
        for (const path of ['/', '/trade/ETH_USDC']) {
          const named = addresses((await get(path)).text, prefix + path);
          expect(named).to.have.length(5);
          for (const { origin, pathname, search } of named) {
            expect([origin, pathname.slice(0, prefix.length + 1)]).to.deep.equal([
              'http://page',
              `${prefix}/`,
            ]);
            expect((await get(pathname.slice(prefix.length) + search)).status, pathname).to.equal(200);
          }
        }
      });

    it('can be installed: its web app manifest begins at the page and names an icon', async () => {
      const { text } = await get('/trade/ETH_USDC');
      const [, address] = /<link rel="manifest" href="([^"]+)"/.exec(text)!;
      const { pathname } = new URL(address!, 'http://page/trade/ETH_USDC');
      const reply = await get(pathname);
      expect(reply.headers['content-type']).to.equal('application/manifest+json; charset=utf-8');
      const { start_url, icons } = JSON.parse(textOf(reply));
      expect(new URL(start_url, `http://page${pathname}`).pathname).to.equal('/');
      const icon = await get(new URL(icons[0].src, `http://page${pathname}`).pathname);
      expect([icon.status, icon.headers['content-type']]).to.deep.equal([200, icons[0].type]);
    });

    it('has the strict policy of WEB_URL, never of Host, and the other headers of a page', async () => {
      for (const path of ['/', '/trade/NOPE_USDC']) {
        const { headers } = await get(path, { Host: 'evil.example' });
        expect(headers['content-security-policy']!.split(';')).to.deep.equal(POLICY);
        expect(headers).to.include({
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        });
        expect(headers['permissions-policy']!.split(', ')).to.include.members(['camera=()', 'usb=()']);
        expect(headers).to.not.have.any.keys('access-control-allow-origin');
      }
      expect((await get('/v1/markets')).headers['content-security-policy']).to.equal(
        "default-src 'none';frame-ancestors 'none'",
      );
    });

    const sources: [webUrl: string, source: string][] = [
      ['http://localhost:8080', "connect-src 'self' ws://localhost:8080"],
      ['https://trade.example/app', "connect-src 'self' wss://trade.example"],
      ['http://[::1]:8080', "connect-src 'self'"],
    ];
    for (const [webUrl, source] of sources)
      it(`may connect to the streams of ${webUrl}`, async () => {
        const { app } = await fixture.replica({ webUrl });
        const { headers } = await request(app).get('/');
        expect(headers['content-security-policy']!.split(';')).to.include(source);
      });

    it('has the name of the service as escaped text', async () => {
      const serviceName = '"><script>&';
      const { app } = await fixture.replica({ serviceName });
      const { text } = await request(app).get('/');
      expect(text).to.include('<title>&quot;&gt;&lt;script&gt;&amp;</title>');
      expect(text).not.to.include(serviceName);
    });

    it('offers the demo wallet when the faucet is on', async () => {
      const { app } = await fixture.replica({ demoFaucet: false });
      const replies = await Promise.all([
        get('/'),
        get('/', { 'X-Forwarded-For': '192.0.2.1' }),
        request(app).get('/'),
      ]);
      const offers = replies.map(({ text }) => /name="redbook-demo" content="(\w+)"/.exec(text)?.[1]);
      expect(offers).to.deep.equal(['true', 'false', 'false']);
    });

    it('is served while the engine is away', async () => {
      const replica = await fixture.replica();
      replica.engineRedis.disconnect();
      expect((await request(replica.app).get('/v1/markets')).status).to.equal(503);
      for (const path of ['/', '/trade/ETH_USDC', '/trade/NOPE_USDC'])
        expect((await request(replica.app).get(path)).status, path).to.equal(200);
    });
  });

  describe('a file of its bundle', () => {
    for (const [name, hash] of Object.entries(manifest.files).filter(([name]) => !isOfDesk(name))) {
      it(`${name} may be cached forever under its hash, and under no other`, async () => {
        const own = await get(`/web/${name}?v=${hash}`);
        expect([own.status, own.headers['cache-control']]).to.deep.equal([
          200,
          'public, max-age=31536000, immutable',
        ]);
        for (const query of ['', '?v=other', `?v=${hash}&v=${hash}`]) {
          const other = await get(`/web/${name}${query}`);
          expect([other.status, other.headers['cache-control'], textOf(other)]).to.deep.equal([
            200,
            'no-store',
            textOf(own),
          ]);
        }
        expect(textOf(own)).to.equal(built(name).toString());
        expect(own.headers['cross-origin-resource-policy']).to.equal('same-origin');
        expect(own.headers).to.not.have.any.keys('access-control-allow-origin');
      });
    }

    it('is none of the desk, which OPERATOR_PORT serves', async () => {
      const ofDesk = Object.keys(manifest.files).filter(isOfDesk);
      expect(ofDesk).to.have.length(2);
      for (const name of ofDesk)
        expect((await get(`/web/${name}?v=${manifest.files[name]}`)).status, name).to.equal(404);
    });

    it('is compressed on request, and has an entity tag', async () => {
      const path = `/web/main.js?v=${manifest.files['main.js']}`;
      const plain = await get(path, { 'Accept-Encoding': 'identity' });
      expect(plain.headers['content-type']).to.equal('text/javascript; charset=utf-8');
      expect(plain.headers).to.not.have.any.keys('content-encoding');
      const zipped = await get(path, { 'Accept-Encoding': 'gzip' });
      expect(zipped.headers['content-encoding']).to.equal('gzip');
      expect(Number(zipped.headers['content-length'])).to.be.below(built('main.js').length / 2);
      expect(zipped.text).to.equal(plain.text);
      const again = await get(path, { 'If-None-Match': zipped.headers.etag! });
      expect(again.status).to.equal(304);
      const head = await request(fixture.app).head(path);
      expect([head.status, head.headers.etag]).to.deep.equal([200, plain.headers.etag]);
    });

    it('is complete by itself, so that files of two releases work together', () => {
      for (const name of Object.keys(manifest.files).filter((name) => name.endsWith('.js')))
        expect(built(name).toString(), name).to.not.match(/(?<!["'])\b(?:import|from)\s*["']/);
    });

    it('names the files it loads on demand with their hashes', () => {
      const loaded = Object.keys(manifest.files)
        .filter((name) => name.endsWith('.js'))
        .flatMap((name) => [
          ...built(name)
            .toString()
            .matchAll(/import\("\.\/([^"?]+)\?v=([^"]+)"\)/g),
        ]);
      for (const [, name, hash] of loaded) expect(manifest.files[name!], name).to.equal(hash);
      const onDemand = Object.keys(manifest.files).filter(
        (name) => name.endsWith('.js') && name !== 'main.js' && !isOfDesk(name),
      );
      expect([...new Set(loaded.map(([, name]) => name))].sort()).to.deep.equal(onDemand.sort());
    });
  });

  it('is counted in metrics under few routes', async () => {
    const paths = [
      '/',
      '/trade/ETH_USDC',
      '/trade/NOPE_USDC',
      '/web/main.js',
      '/web/nothing.js',
      '/web/../x',
    ];
    for (const path of paths) await get(path);
    const text = await fixture.services.metrics.text();
    const routes = new Set([...text.matchAll(/route="([^"]+)"/g)].map(([, route]) => route));
    expect([...routes]).to.include.members(['/', '/trade/:ticker_id', '/web/main.js', 'unknown']);
    expect([...routes].filter((route) => /NOPE|nothing/.test(route!))).to.deep.equal([]);
  });

  it('is served with the licences of its packages', async () => {
    const text = (await get('/web/notice.txt')).text;
    expect(text).to.include(readFileSync(new URL('NOTICE', ROOT), 'utf8'));
    expect(text).to.include(readFileSync(new URL('LICENSE', ROOT), 'utf8'));
    expect(manifest.packages).to.include.members(['preact', 'lightweight-charts']);
    for (const name of manifest.packages) {
      const folder = new URL(`node_modules/${name}/`, ROOT);
      const entry = text.split('\n\n').find((part) => part.split(/[\s,]/).includes(name));
      expect(entry, `${name} in NOTICE`).to.be.a('string');
      const file = readdirSync(folder).find((path) => /^licen[cs]e/i.test(path));
      if (file === undefined) continue;
      const licence = readFileSync(new URL(file, folder), 'utf8');
      const [, holder] = /copyright (?:\(c\) )?[\d-]+(?:present)? ([\w ]+)/i.exec(licence)!;
      expect(entry)
        .to.include(holder)
        .and.to.match(licence.includes('Apache') ? /Apache/ : /MIT License/);
    }
  });

  it('takes at most 150 KB compressed, 15 KB for the demo wallet on demand, and 25 KB for the desk', () => {
    const sizes = Object.keys(manifest.files)
      .filter((name) => name !== 'notice.txt')
      .map((name) => ({ name, bytes: gzipSync(built(name), { level: 9 }).length }));
    const partOf = (name: string): string =>
      name === 'demo-wallet.js' ? 'demo' : name.startsWith('desk.') ? 'desk' : 'page';
    const sum = (part: string): number =>
      sizes.filter(({ name }) => partOf(name) === part).reduce((total, { bytes }) => total + bytes, 0);
    for (const [part, max] of Object.entries({ page: 150_000, demo: 15_000, desk: 25_000 }))
      expect(sum(part), JSON.stringify(sizes)).to.be.at.most(max);
  });
});
