/** Compares the client's report of an order with the final state of the service. */

import { expect } from 'chai';
import type { NewOrder, Placed } from '../../src/client/index.ts';

/** The client's result for an order with a known client order id. */
export interface Report {
  readonly order: NewOrder & { readonly clientOrderId: string };
  readonly placed: Placed;
  /**
   * Each time that the order was sent, with the status of its answer; undefined if there was no answer. Milliseconds of
   * a simulated clock, and undefined for a real one, which a busy machine delays.
   */
  readonly sendings: readonly { readonly atMs?: number; readonly answeredStatus?: number }[];
  /** True when the id stood for another order before. */
  readonly isUsed: boolean;
}

const RESEND_WITHIN_MS = 5_000;

/** @param recorded status of the order in the service's books; undefined if it is not there */
export function judge({ order, placed, sendings, isUsed }: Report, recorded: string | undefined): void {
  const { clientOrderId } = order;
  expect(placed.clientOrderId).to.equal(clientOrderId);
  if (isUsed) {
    expect(placed.outcome, 'nothing is placed under a used id').to.not.equal('placed');
    return;
  }
  expect(placed.outcome, 'the id is new').to.not.equal('duplicate');
  if (placed.outcome === 'placed') {
    expect(placed.order.clientOrderId, 'the order is the one that was placed').to.equal(clientOrderId);
    expect(recorded, 'a placed order is in the books').to.be.a('string').and.not.equal('rejected');
  }
  if (placed.outcome === 'refused') {
    expect([undefined, 'rejected'], 'a refused order is not in the books').to.include(recorded);
    const { status, code } = placed.error;
    const hasEvidence =
      placed.order?.status === 'rejected' || /^4/.test(String(status)) || code === 'DEADLINE_PASSED';
    expect(hasEvidence, 'a refusal rests on a 4xx answer, a recorded rejection or the deadline').to.equal(
      true,
    );
  }
  const [first] = sendings;
  const canRest = order.type === 'limit' && (order.timeInForce ?? 'GTC') === 'GTC';
  for (const [index, { atMs }] of sendings.entries()) {
    if (atMs !== undefined) expect(atMs - first!.atMs!, 'sent again in time').to.be.at.most(RESEND_WITHIN_MS);
    const before = sendings[index - 1];
    if (before !== undefined && !canRest)
      expect([400, 401], 'sent again only after a refusal').to.include(before.answeredStatus);
  }
}
