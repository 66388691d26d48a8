/** Tests the hours and days of the page in the words of a country. */

import { expect } from 'chai';
import { momentText } from '../../src/web/figures/clock-text.ts';

const LATE = new Date(Date.UTC(2026, 10, 28, 12, 34, 56));

describe('moments of the page', () => {
  it('have the digits and the calendar of the chart in every country', () => {
    for (const locale of [
      'en-GB',
      'ar-EG',
      'ar-SA',
      'fa',
      'mr',
      'my',
      'ps',
      'th',
      'uz-Arab',
      'ja-JP-u-ca-japanese',
    ])
      for (const dateStyle of ['short', 'medium'] as const) {
        const text = momentText(LATE, { dateStyle, timeStyle: 'medium', timeZone: 'UTC' }, locale);
        expect(text, locale)
          .to.match(/\b(20)?26\b/)
          .and.to.match(/34.56/);
      }
  });
});
