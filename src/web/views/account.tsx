/** Open orders, order history, fills and balances of the signed-in wallet. */

export function Account() {
  return (
    <section class="panel account" aria-labelledby="account-heading">
      <h2 id="account-heading">Your account</h2>
    </section>
  );
}
