/** Proves that a Redis address names one server, copies or a durable service, and that anything else is rejected. */

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

  it('is a service that keeps each write by itself, by one name or several nodes', () => {
    const service = { kind: 'durable', tls: true, database: 0, username: 'api', password: 'secret' };
    expect(readRedisAddress('rediss+durable://api:secret@one')).to.deep.equal({
      ...service,
      endpoints: [node('one', 6379)],
    });
    expect(readRedisAddress('rediss+durable://api:secret@one:7000,two,three:7002')).to.deep.equal({
      ...service,
      endpoints: [node('one', 7000), node('two', 6379), node('three', 7002)],
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
    'redis://one,redis://two',
    'redis://%zz@one',
    'redis+sentinel://one,two/queue',
    'redis+copies://one',
    'redis+copies://one,',
    'redis+copies://one,two/1',
    'redis+durable://one,',
    'redis+durable://one,,two',
    'redis+durable://one,two/1',
  ])
    it(`may not be ${JSON.stringify(text)}`, () => expect(readRedisAddress(text)).to.equal(undefined));
});
