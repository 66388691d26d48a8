/** Changes of planted faults in a process of a history, where no text of a script or of a statement does. */

import type { Sabotage } from './service.ts';

const MOVE = 'update engine_cursor set sequence = $1, epoch = $2, digest = $3, event_time_ms = $4';

function replace<Part extends object, Name extends keyof Part>(part: Part, name: Name, by: Part[Name]): void {
  part[name] = by;
}

/** By the name of the fault. */
export const SABOTAGE: Readonly<Record<string, Sabotage>> = {
  'moves the cursor after the transaction': ({ ledger }, makePool) => {
    const pool = makePool({ application_name: 'redbook cursor', max: 1 });
    const { settle } = ledger.settlement;
    replace(ledger.settlement, 'settle', async (events) => {
      const settled = await settle(events);
      const last = events.at(-1);
      if (last === undefined || settled.sequence !== last.sequence) return settled;
      await pool.query(MOVE, [last.sequence, last.epoch, last.digest.hex, last.timeMs]);
      return settled;
    });
  },
  'trusts the engine where only Postgres knows an id': ({ ledger }) =>
    replace(ledger.orders, 'placedId', async () => null),
  'sends an order again after a lost answer': ({ engine: { orders } }) => {
    const place = orders.place.bind(orders);
    replace(orders, 'place', (command) => place(command).catch(() => place(command)));
  },
  'trims events when they are read': ({ engine: { outbox } }) => {
    const readEvents = outbox.readEvents.bind(outbox);
    replace(outbox, 'readEvents', async (after, count, weight) => {
      const events = await readEvents(after, count, weight);
      const last = events.at(-1);
      if (last !== undefined) await outbox.trim(last);
      return events;
    });
  },
};
