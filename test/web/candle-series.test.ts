/** The candles of the chart: the current candle of the stream joined with the history from REST. */

import { expect } from 'chai';
import { addHistory, type ChartCandle, drawingStep, joinFrame } from '../../src/web/figures/candle-series.ts';
import { movingAverage, volumeWeighted } from '../../src/web/figures/indicators.ts';

const candle = (time: number, close: string, volume = '1'): ChartCandle => ({
  time,
  open: '10',
  high: '12',
  low: '9',
  close,
  volume,
});
const told = (series: readonly ChartCandle[]): string[] =>
  series.map(({ time, close }) => `${time} ${close}`);

describe('the candles of the chart', () => {
  it('keep the current candle of the stream when history arrives', () => {
    const series = addHistory([candle(180, '11')], [candle(60, '10'), candle(180, '10.5')]);
    expect(told(series)).to.deep.equal(['60 10', '180 11']);
  });

  it('take older history in front, and the final figures of a finished candle', () => {
    const series = [candle(120, '10'), candle(180, '11')];
    expect(told(addHistory(series, [candle(0, '9'), candle(60, '9.5')]))).to.deep.equal([
      '0 9',
      '60 9.5',
      '120 10',
      '180 11',
    ]);
    expect(told(addHistory(series, [candle(120, '10.4'), candle(180, '10')]))).to.deep.equal([
      '120 10.4',
      '180 11',
    ]);
  });

  it('start anew with history that does not reach back to them', () => {
    expect(told(addHistory([candle(60, '10')], [candle(600, '11'), candle(660, '12')]))).to.deep.equal([
      '600 11',
      '660 12',
    ]);
  });

  it('ignore frames that are older than the last candle or repeat it', () => {
    const series = [candle(60, '10'), candle(120, '11')];
    expect(joinFrame(series, candle(60, '99')).series).to.equal(series);
    expect(joinFrame(series, candle(120, '11')).series).to.equal(series);
  });

  it('change the last candle, and begin the next', () => {
    const series = [candle(60, '10')];
    expect(told(joinFrame(series, candle(60, '10.5')).series)).to.deep.equal(['60 10.5']);
    const next = joinFrame(series, candle(120, '11'));
    expect(told(next.series)).to.deep.equal(['60 10', '120 11']);
    expect(next.ended).to.equal(60);
  });

  it('have no candle for a bucket without executions', () => {
    const series = [candle(60, '10'), candle(120, '10', '0')];
    expect(told(joinFrame(series, candle(180, '11')).series)).to.deep.equal(['60 10', '180 11']);
  });

  it('are redrawn only as far as they changed', () => {
    const series = [candle(60, '10'), candle(120, '11')];
    expect(drawingStep([], series)).to.equal('all');
    expect(drawingStep(series, series)).to.equal('none');
    expect(drawingStep(series, joinFrame(series, candle(120, '12')).series)).to.equal('last');
    expect(drawingStep(series, joinFrame(series, candle(180, '12')).series)).to.equal('last');
    expect(drawingStep(series, addHistory(series, [candle(0, '9')]))).to.equal('all');
    expect(drawingStep(series, addHistory(series, [candle(60, '9')]))).to.equal('all');
    expect(drawingStep(series, series.slice(0, 1))).to.equal('all');
  });

  it('have averages of the last closes, and average prices by volume that begin again each day', () => {
    const day = 86_400;
    const series = [candle(0, '9', '1'), candle(60, '12', '3'), candle(day, '15', '2')];
    expect(movingAverage(series, 2)).to.deep.equal([
      { time: 60, value: 10.5 },
      { time: day, value: 13.5 },
    ]);
    // The middles of high, low and close are 10, 11 and 12.
    expect(volumeWeighted(series, '1m').map(({ value }) => value)).to.deep.equal([10, 10.75, 12]);
    expect(volumeWeighted(series, '1D').at(-1)?.value).to.be.closeTo((10 + 33 + 24) / 6, 1e-9);
  });
});
