/** Price alerts, the line of a first visitor, and figures as a country writes them. */

import { expect } from 'chai';
import { digitGrouping, numberStyleOf } from '../../src/web/figures/grouped-digits.ts';
import { MAX_ALERTS, type PriceAlert, reachedBy, readAlerts } from '../../src/web/figures/price-alerts.ts';
import { priceLine } from '../../src/web/figures/price-line.ts';

const alertAt = (price: string, isRise: boolean): PriceAlert => ({
  id: `${price} ${isRise}`,
  market: 'ETH/USDC',
  price,
  isRise,
  reachedAt: null,
});

describe('price alerts', () => {
  const reachedAt = (mark: string | null, ...alerts: PriceAlert[]): (number | null)[] =>
    reachedBy(alerts, () => mark, 5).map((alert) => alert.reachedAt);

  it('are reached by a mark at the price or beyond it, from their own side, to the last digit', () => {
    const rise = alertAt('9007199254740993.1', true);
    const fall = alertAt('9007199254740993.1', false);
    expect(reachedAt('9007199254740993.1', rise, fall)).to.deep.equal([5, 5]);
    expect(reachedAt('9007199254740993.2', rise, fall)).to.deep.equal([5, null]);
    expect(reachedAt('9007199254740993.0', rise, fall)).to.deep.equal([null, 5]);
    expect(reachedAt(null, rise, fall)).to.deep.equal([null, null]);
    expect(reachedAt('1', { ...fall, reachedAt: 3 })).to.deep.equal([3]);
  });

  it('stay the same list while no mark reaches one', () => {
    const alerts = [alertAt('2000', true)];
    expect(reachedBy(alerts, () => '1999.99', 5)).to.equal(alerts);
  });

  it('are read from what the browser kept, without what is no alert', () => {
    const good = alertAt('2000.5', true);
    const bad = [null, 7, {}, { ...good, price: '2e3' }, { ...good, isRise: 1 }, { ...good, reachedAt: '1' }];
    expect(readAlerts(JSON.stringify([...bad, good]))).to.deep.equal([good]);
    for (const text of [null, '', '{', '{"a":1}', 'null']) expect(readAlerts(text)).to.deep.equal([]);
    expect(readAlerts(JSON.stringify(Array(MAX_ALERTS + 9).fill(good)))).to.have.length(MAX_ALERTS);
  });
});

describe('the line of prices', () => {
  it('goes from the oldest to the newest price, and from the lowest to the highest', () => {
    const moments = [
      { time: 60, price: '2000' },
      { time: 120, price: '2010' },
      { time: 180, price: '1990' },
    ];
    expect(priceLine(moments)).to.deep.equal({
      points: '0.0,500.0 500.0,0.0 1000.0,1000.0',
      low: '1990',
      high: '2010',
    });
    expect(priceLine(moments.slice(0, 1))).to.equal(null);
    const flat = moments.map(({ time }) => ({ time, price: '7' }));
    expect(priceLine(flat)?.points).to.equal('0.0,1000.0 500.0,1000.0 1000.0,1000.0');
  });
});

describe('figures as a country writes them', () => {
  it('have all of their digits, and their unit', () => {
    const cases: readonly (readonly [locale: string, text: string, written: string])[] = [
      ['en-GB', '9007199254740993.000000000000000001', '9,007,199,254,740,993.000000000000000001'],
      ['de-DE', '-1234.50 USDC', '-1.234,50 USDC'],
      ['en-IN', '1234567.5', '12,34,567.5'],
      ['es-ES', '1234.5', '1234,5'],
      ['ar-EG', '1234.5', '1,234.5'],
      ['en-GB', '0.5', '0.5'],
      ['en-GB', '–', '–'],
      ['en-GB', 'about 1234', 'about 1234'],
    ];
    for (const [locale, text, written] of cases)
      expect(digitGrouping(locale)(text), locale).to.equal(written);
    expect(['en-GB', 'de-DE'].map((locale) => numberStyleOf(locale).decimal)).to.deep.equal(['.', ',']);
  });
});
