/** Shows the latest public trades of the selected market. */

export function Trades() {
  return (
    <section class="panel trades" aria-labelledby="trades-heading">
      <h2 id="trades-heading">Trades</h2>
    </section>
  );
}
