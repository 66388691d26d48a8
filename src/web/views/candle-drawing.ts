/** Draws candles, volume and own marks on a canvas. Doubles are enough here: they become pixels, and nothing is added up. */

import {
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IChartApi,
  type IPriceLine,
  type ISeriesApi,
  type ISeriesMarkersPluginApi,
  LineSeries,
  LineStyle,
  type MouseEventParams,
  type Time,
  type UTCTimestamp,
} from 'lightweight-charts';
import type { Grid } from '../../domain/units.ts';
import { formatCount, formatGrid } from '../../domain/units.ts';
import { type CandleSeries, type ChartCandle, drawingStep } from '../figures/candle-series.ts';
import type { LinePoint } from '../figures/indicators.ts';
import type { OwnArrow, OwnLine } from '../figures/own-marks.ts';
import { dragLines } from './line-drag.ts';

/** Lines over the candles, each in a colour of its own. */
export type OverlayName = 'short' | 'long' | 'weighted';
export type Overlays = Readonly<Partial<Record<OverlayName, readonly LinePoint[]>>>;
const OVERLAY_COLOURS = { short: 'link', long: 'warn', weighted: 'accent' } as const;

const PLAIN_COLOURS = ['muted', 'line', 'up', 'down', 'up-volume', 'down-volume', 'edge'];
const COLOURS = [...PLAIN_COLOURS, ...Object.values(OVERLAY_COLOURS)];

/** Returns the colours of the theme that is shown. The canvas cannot read the style sheet itself. */
function themeColours(element: HTMLElement): (name: string) => string {
  const probe = document.createElement('span');
  probe.hidden = true;
  element.append(probe);
  const colours = new Map<string, string>();
  for (const name of COLOURS) {
    probe.style.color = `var(--${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  probe.remove();
  return (name) => colours.get(name)!;
}

/** Maximum decimals that the chart computes with. Prices with more are drawn as multiples of a smaller unit. */
const MAX_PLACES = 8;

/** Maximum own lines with a label: more would cover the axis. */
const MAX_LABELS = 8;

/** Number of candles left at the left edge when older ones are requested. */
const EDGE = 30;

interface DrawingEvents {
  /** Returns a plain decimal as the reader wants it shown. */
  shown(decimal: string): string;
  /** Returns the text of a mark of the time axis. @param time Unix seconds */
  markOf(time: number): string;
  /** Returns the text of the start of a candle. @param time Unix seconds */
  startOf(time: number): string;
  /** Called when the reader nears the left edge. */
  onEdge(): void;
  /** Called when the reader points at a candle, or at none. */
  onPoint(time: number | null): void;
  /** Called when the reader has dragged a line of own orders to another price on the grid. It stays there meanwhile. */
  onDrag(line: OwnLine, price: string): Promise<void>;
}

/** A line of own orders as it is drawn. */
interface DrawnLine {
  readonly own: OwnLine;
  readonly drawn: IPriceLine;
}

/** Pixels above and below a line in which the reader gets hold of it. */
const REACH = 5;

export class CandleDrawing {
  readonly #element: HTMLElement;
  readonly #chart: IChartApi;
  readonly #prices: ISeriesApi<'Candlestick'>;
  readonly #volumes: ISeriesApi<'Histogram'>;
  readonly #arrows: ISeriesMarkersPluginApi<Time>;
  #drawn: CandleSeries = [];
  #lines: readonly DrawnLine[] = [];
  /** The line that the reader has dropped at another price, until it is decided. */
  #dropped: { readonly own: OwnLine; readonly price: string } | null = null;
  readonly #overlays = new Map<OverlayName, ISeriesApi<'Line'>>();
  readonly #endDrag: () => void;
  /** Factor by which a price is multiplied to be drawn. */
  readonly #scale: number;
  /** The marks that are drawn, as text. */
  #marks = '';
  #sideColours = { buy: '', sell: '' };
  #volumeColours = { up: '', down: '' };

  constructor(element: HTMLElement, tick: Grid, events: DrawingEvents) {
    this.#element = element;
    this.#chart = createChart(element, {
      autoSize: true,
      layout: { attributionLogo: false, fontSize: 11, fontFamily: getComputedStyle(element).fontFamily },
      rightPriceScale: { borderVisible: false, scaleMargins: { top: 0.08, bottom: 0.24 } },
      timeScale: {
        borderVisible: false,
        timeVisible: true,
        secondsVisible: false,
        rightOffset: 3,
        barSpacing: 8,
        tickMarkFormatter: (time: Time) => events.markOf(Number(time)),
      },
    });
    const precision = Math.min(MAX_PLACES, tick.places);
    this.#scale = 10 ** (tick.places - precision);
    this.#chart.applyOptions({
      localization: {
        priceFormatter: (price: number) =>
          price < 0 ? '' : events.shown((price / this.#scale).toFixed(tick.places)),
        timeFormatter: (time: Time) => events.startOf(Number(time)),
      },
    });
    const minMove = Number(tick.coefficient) / 10 ** precision;
    this.#prices = this.#chart.addSeries(CandlestickSeries, {
      priceFormat: { type: 'price', precision, minMove },
    });
    this.#arrows = createSeriesMarkers(this.#prices);
    this.#volumes = this.#chart.addSeries(HistogramSeries, {
      priceScaleId: '',
      priceFormat: { type: 'volume' },
      lastValueVisible: false,
      priceLineVisible: false,
    });
    this.#volumes.priceScale().applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } });
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (range !== null && range.from < EDGE) events.onEdge();
      this.#labelSoon();
    });
    this.#chart.subscribeCrosshairMove(({ time }: MouseEventParams) => {
      events.onPoint(typeof time === 'number' ? time : null);
    });
    this.#endDrag = dragLines<DrawnLine>(element, {
      lineAt: (y) => this.#lines.find((line) => Math.abs(this.#heightOf(line) - y) <= REACH),
      lock: (isDragged) => this.#chart.applyOptions({ handleScroll: !isDragged, handleScale: !isDragged }),
      show: ({ own, drawn }, y) =>
        drawn.applyOptions({ price: this.#drawnPrice(this.#priceAt(y, tick) ?? this.#placeOf(own)) }),
      drop: async ({ own }, y) => {
        const price = this.#priceAt(y, tick);
        if (price === null) return;
        this.#dropped = { own, price };
        await events.onDrag(own, price).finally(() => {
          this.#dropped = null;
        });
      },
    });
    this.colour();
  }

  /** Returns the price at which a line is drawn. */
  #placeOf({ side, price }: OwnLine): string {
    const { own, price: dropped } = this.#dropped ?? {};
    return dropped !== undefined && own?.side === side && own.price === price ? dropped : price;
  }

  #heightOf({ drawn }: DrawnLine): number {
    return this.#prices.priceToCoordinate(drawn.options().price) ?? Number.NEGATIVE_INFINITY;
  }

  /** Returns the price on the grid at a height; null outside the prices. */
  #priceAt(y: number | null, tick: Grid): string | null {
    const price = y === null ? null : this.#prices.coordinateToPrice(y);
    const ticks = price === null ? 0 : Math.round(price / this.#scale / Number(formatGrid(tick)));
    return ticks > 0 && Number.isSafeInteger(ticks) ? formatCount(BigInt(ticks), tick) : null;
  }

  /** Applies the colours of a changed theme. */
  colour(): void {
    const colour = themeColours(this.#element);
    const label = { labelBackgroundColor: colour('edge'), color: colour('edge') };
    this.#chart.applyOptions({
      layout: { background: { type: ColorType.Solid, color: 'transparent' }, textColor: colour('muted') },
      grid: { vertLines: { color: colour('line') }, horzLines: { color: colour('line') } },
      crosshair: { vertLine: label, horzLine: label },
    });
    const up = colour('up');
    const down = colour('down');
    // Where the system chooses the colours, both sides have one: rising candles are hollow then.
    const isOneColour = up === down;
    this.#prices.applyOptions({
      upColor: isOneColour ? 'transparent' : up,
      downColor: down,
      wickUpColor: up,
      wickDownColor: down,
      borderVisible: isOneColour,
      borderUpColor: up,
      borderDownColor: down,
    });
    this.#sideColours = { buy: up, sell: down };
    this.#volumeColours = { up: colour('up-volume'), down: colour('down-volume') };
    for (const [name, series] of this.#overlays)
      series.applyOptions({ color: colour(OVERLAY_COLOURS[name]) });
    const drawn = this.#drawn;
    this.#drawn = [];
    this.show(drawn);
  }

  /** Draws lines over the candles, and removes those that are not given. */
  overlay(overlays: Overlays): void {
    for (const [name, series] of this.#overlays) {
      if (overlays[name] !== undefined) continue;
      this.#chart.removeSeries(series);
      this.#overlays.delete(name);
    }
    for (const [name, points] of Object.entries(overlays) as [OverlayName, readonly LinePoint[]][]) {
      let series = this.#overlays.get(name);
      if (series === undefined) {
        const color = themeColours(this.#element)(OVERLAY_COLOURS[name]);
        const quiet = { lastValueVisible: false, priceLineVisible: false, crosshairMarkerVisible: false };
        series = this.#chart.addSeries(LineSeries, { ...quiet, color, lineWidth: 1 });
        this.#overlays.set(name, series);
      }
      series.setData(
        points.map(({ time, value }) => ({ time: time as UTCTimestamp, value: value * this.#scale })),
      );
    }
  }

  /** Draws the candles. Only the last is drawn anew where nothing else has changed. */
  show(candles: CandleSeries): void {
    const step = drawingStep(this.#drawn, candles);
    const isFirst = this.#drawn.length === 0;
    this.#drawn = candles;
    if (step === 'none') return;
    this.#labelSoon();
    const last = candles.at(-1);
    if (step === 'last' && last !== undefined) {
      this.#prices.update(this.#bar(last));
      this.#volumes.update(this.#volume(last));
      return;
    }
    this.#prices.setData(candles.map((candle) => this.#bar(candle)));
    this.#volumes.setData(candles.map((candle) => this.#volume(candle)));
    if (isFirst) this.#chart.timeScale().scrollToRealTime();
  }

  /** Draws a line for each own order, and an arrow for each candle and side with own fills. */
  mark(lines: readonly OwnLine[], arrows: readonly OwnArrow[]): void {
    const marks = JSON.stringify([lines, arrows, this.#sideColours]);
    // Reads of the account repeat every two seconds, mostly with the same orders and fills.
    if (marks === this.#marks) return;
    this.#marks = marks;
    for (const { drawn } of this.#lines) this.#prices.removePriceLine(drawn);
    this.#lines = lines.map((own) => ({
      own,
      drawn: this.#prices.createPriceLine({
        price: this.#drawnPrice(this.#placeOf(own)),
        color: this.#sideColours[own.side],
        lineWidth: 1,
        lineStyle: LineStyle.LargeDashed,
        title: `${own.side} ${own.size}`,
        axisLabelVisible: false,
      }),
    }));
    this.#labelSoon();
    this.#arrows.setMarkers(
      arrows.map(({ side, time }) => ({
        time: time as UTCTimestamp,
        color: this.#sideColours[side],
        position: side === 'buy' ? 'belowBar' : 'aboveBar',
        shape: side === 'buy' ? 'arrowUp' : 'arrowDown',
      })),
    );
  }

  #drawnPrice = (price: string): number => Number(price) * this.#scale;

  #labelling = 0;

  /** Labels the nearest lines that the chart shows, once it has been drawn. */
  #labelSoon(): void {
    this.#labelling ||= requestAnimationFrame(() => {
      this.#labelling = 0;
      const { clientHeight } = this.#element;
      let left = MAX_LABELS;
      for (const line of this.#lines) {
        const height = this.#heightOf(line);
        const axisLabelVisible = height >= 0 && height <= clientHeight && left > 0;
        if (axisLabelVisible) left -= 1;
        if (line.drawn.options().axisLabelVisible !== axisLabelVisible)
          line.drawn.applyOptions({ axisLabelVisible });
      }
    });
  }

  end(): void {
    cancelAnimationFrame(this.#labelling);
    this.#endDrag();
    this.#chart.remove();
  }

  #bar({ time, open, high, low, close }: ChartCandle) {
    return {
      time: time as UTCTimestamp,
      open: this.#drawnPrice(open),
      high: this.#drawnPrice(high),
      low: this.#drawnPrice(low),
      close: this.#drawnPrice(close),
    };
  }

  #volume({ time, open, close, volume }: ChartCandle) {
    const color = Number(close) < Number(open) ? this.#volumeColours.down : this.#volumeColours.up;
    return { time: time as UTCTimestamp, value: Number(volume), color };
  }
}
