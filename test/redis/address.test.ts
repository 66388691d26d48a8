/** Proves that a Redis address names one server, a cluster or Sentinels, and that anything else is rejected. */

import { expect } from 'chai';
import { readRedisAddress } from '../../src/redis/address.ts';

const node = (host: string, port: number) => ({ host, port });

describe('the address of a Redis', () => {
  it('may name one server', () => {
    expect(readRedisAddress('redis://localhost')).to.deep.equal({
      kind: 'server',
      endpoints: [node('localhost', 6379)],
      tls: false,
      database: 0,
    });
    expect(readRedisAddress('rediss://engine-api:p%40ss%2Cword@[::1]:7000/3')).to.deep.equal({
      kind: 'server',
      endpoints: [node('::1', 7000)],
      tls: true,
      database: 3,
      username: 'engine-api',
      password: 'p@ss,word',
    });
  });

  it('may name a cluster by some of its nodes', () => {
    const text = 'rediss://api:secret@one:7000,rediss://api:secret@two,rediss://api:secret@three:7002/0';
    expect(readRedisAddress(text)).to.deep.equal({
      kind: 'cluster',
      tls: true,
      database: 0,
      username: 'api',
      password: 'secret',
      endpoints: [node('one', 7000), node('two', 6379), node('three', 7002)],
    });
  });

  it('may name the primary by its Sentinels', () => {
    expect(readRedisAddress('redis+sentinel://api:se%2Fcret@one,two:26380/queue')).to.deep.equal({
      kind: 'sentinel',
      tls: false,
      database: 0,
      username: 'api',
      password: 'se/cret',
      endpoints: [node('one', 26379), node('two', 26380)],
      primaryName: 'queue',
    });
    expect(readRedisAddress('rediss+sentinel://one/queue')).to.deep.include({ kind: 'sentinel', tls: true });
  });

  it('is a list of copies, one of which is the primary', () => {
    expect(readRedisAddress('rediss+copies://api:se%2Fcret@one,[::1]:7000,three')).to.deep.equal({
      kind: 'copies',
      tls: true,
      database: 0,
      username: 'api',
      password: 'se/cret',
      endpoints: [node('one', 6379), node('::1', 7000), node('three', 6379)],
    });
  });

  it('is one server that keeps each write by itself', () => {
    expect(readRedisAddress('rediss+durable://api:secret@one')).to.deep.equal({
      kind: 'server',
      durable: true,
      tls: true,
      database: 0,
      username: 'api',
      password: 'secret',
      endpoints: [node('one', 6379)],
    });
  });

  for (const text of [
    '',
    'redis://',
    'redis:///0',
    'redis://one/zero',
    'redis://one?family=6',
    'redis://one:70000',
    'redis://one,two',
    'redis://one,',
    'redis://one,rediss://two',
    'redis://one/1,redis://two/1',
    'redis://api:secret@one,redis://two',
    'redis://%zz@one',
    'redis+sentinel://one,two',
    'redis+sentinel://one,,two/queue',
    'redis+sentinel://one/queue/0',
    'sentinel://one/queue',
    'redis+copies://one',
    'redis+copies://one,',
    'redis+copies://one,two/1',
    'redis+durable://one,two',
  ])
    it(`may not be ${JSON.stringify(text)}`, () => expect(readRedisAddress(text)).to.equal(undefined));
});
