/** Proves that the commands in the welcome text of the all-in-one work. */

import { expect } from 'chai';
import { readConfig } from '../../src/config.ts';
import { operatorsLine, welcome } from '../../src/roles/welcome.ts';

const MARKETS = [{ symbol: 'ETH/USDC' }, { symbol: 'BTC/USDC' }];

describe('the ready text', () => {
  it('gives the address of the trading page first', () => {
    const [first, ...rest] = welcome(readConfig({ PORT: '18080' }), MARKETS, true);
    expect(first).to.equal('Open http://localhost:18080/ to trade in a browser.');
    expect(rest).to.include('Redbook listens on http://localhost:18080');
    expect(rest).to.include('Markets: ETH/USDC, BTC/USDC');
  });

  it('names the address of HOST when localhost does not lead to it', () => {
    const firstOf = (HOST: string): string | undefined =>
      welcome(readConfig({ PORT: '18080', HOST }), MARKETS, true)[0];
    for (const host of ['::', '0.0.0.0', '::1'])
      expect(firstOf(host)).to.equal('Open http://localhost:18080/ to trade in a browser.');
    expect(firstOf('192.0.2.7')).to.equal('Open http://192.0.2.7:18080/ to trade in a browser.');
    expect(firstOf('fd00::1')).to.equal('Open http://[fd00::1]:18080/ to trade in a browser.');
  });

  it('says that the faucet is on and how to turn it off, and nothing when it is off', () => {
    const textOf = (env: NodeJS.ProcessEnv): string => welcome(readConfig(env), MARKETS, true).join('\n');
    expect(textOf({})).to.match(/^The faucet is on: .* DEMO_FAUCET=off ends it\.$/m);
    expect(textOf({ DEMO_FAUCET: 'off' })).to.not.match(/faucet/i);
    expect(textOf({ REDIS_URL: 'redis://redis.example' })).to.not.match(/faucet/i);
  });

  it('names the port for operators, and the one that was taken', () => {
    expect(operatorsLine(8081, 8081)).to.match(/^Operators: http:\/\/localhost:8081\/operator\/v1,.*create$/);
    expect(operatorsLine(9000, 8081)).to.match(/localhost:9000.* \(port 8081 is taken\)$/);
    expect(operatorsLine(9000, 0)).to.not.contain('taken');
  });

  it('gives commands that find the service by its data folder', () => {
    const text = welcome(readConfig({ DATA_DIR: '/tmp/books' }), [], true).join('\n');
    expect(text)
      .to.contain("DATA_DIR='/tmp/books' npm run demo")
      .and.to.contain('No market is published yet.');
  });
});
