/** Tests times as people and programs write them. */

import { expect } from 'chai';
import { parseMoment } from '../../src/domain/moment.ts';

const AT = Date.UTC(2026, 10, 1, 10);

describe('times', () => {
  it('are read as Python, Go, Postgres and JavaScript write them', () => {
    for (const [text, expected] of [
      ['2026-11-01', AT - 36_000_000],
      ['2026-11-01T10:00Z', AT],
      ['2026-11-01T10:00:00.123Z', AT + 123],
      ['2026-11-01T10:00:00.1Z', AT + 100],
      ['2026-11-01T10:00:00.123456+00:00', AT + 123],
      ['2026-11-01T10:00:00.123999999Z', AT + 123],
      ['2026-11-01T12:00:00+0200', AT],
      ['2026-11-01 12:00:00.5+02', AT + 500],
      ['2026-11-01 05:30:00-04:30', AT],
      ['2026-11-01t10:00:00z', AT],
      // A plus sign in a query that nobody has encoded is a space.
      ['2026-11-01T12:00:00 02:00', AT],
      ['2026-11-01 10:00:00 00', AT],
    ] as const)
      expect(parseMoment(text), text).to.equal(expected);
  });

  it('are refused when they name no moment', () => {
    for (const text of [
      '',
      'now',
      '2026-02-31',
      '2026-02-31T10:00:00Z',
      '2026-11-01T10:00:00',
      '2026-11-01 10:00',
      ...[
        '2026-11-01T25:00:00Z',
        '2026-11-01T10:00:60Z',
        '2026-11-01T10:00:00.Z',
        '2026-11-01T10:00:00.1234567890Z',
      ],
      '2026-11-01Z',
      '2026-11-01T10:00:00+25:00',
      '1793527200',
      '2026-11-01T10:00:00 Z',
    ])
      expect(parseMoment(text), text).to.equal(undefined);
  });
});
