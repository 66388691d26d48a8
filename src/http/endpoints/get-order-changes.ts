/** `GET /v1/orders/changes`: returns changes of the wallet's orders after a cursor, oldest first. */

import { changesRequest } from '../../contract/requests.ts';
import { readPlace, writePlace } from '../../history/list-cursor.ts';
import { type ChangePlace, presentPlace, readChanges } from '../../history/order-changes.ts';
import { checked } from '../checked.ts';
import type { WalletEndpoint } from '../endpoint.ts';
import { findMarkets } from '../replies/market.ts';
import { changeReply } from '../replies/order.ts';
import { jsonForSeveral, type Reply } from '../replies/reply.ts';

/** More than an event can change of one wallet. */
const TOLD_BEFORE = 2 ** 32;

const scopeOf = (wallet: string) => ({ list: 'changes', wallet });

const writeAfter = (wallet: string, { epoch, sequence, told }: ChangePlace): string =>
  writePlace(scopeOf(wallet), [sequence, epoch * TOLD_BEFORE + told]);

function readAfter(wallet: string, cursor: string): ChangePlace {
  const [sequence, rest] = readPlace(scopeOf(wallet), cursor, 2, 'after') as [number, number];
  return { epoch: Math.floor(rest / TOLD_BEFORE), sequence, told: rest % TOLD_BEFORE };
}

const reply = (changes: readonly string[], cursor: string, more: boolean): Reply =>
  jsonForSeveral(`{"changes":[${changes.join(',')}],"cursor":"${cursor}","more":${more}}`);

export const getOrderChanges: WalletEndpoint = {
  request: changesRequest,
  async handle({ services, reads, wallet, query }) {
    const { after, limit } = checked(changesRequest, query);
    if (after === undefined) return reply([], writeAfter(wallet, await presentPlace(services)), false);
    const from = readAfter(wallet, after);
    return reads.lists.read(wallet, `changes ${after} ${limit}`, async () => {
      const { changes, place, more } = await readChanges(services, wallet, from, limit);
      const marketOf = await findMarkets(
        services.engine,
        changes.map(({ order }) => order.order),
      );
      const texts = changes.map((change) => changeReply(change, marketOf(change.order.order)));
      return reply(texts, writeAfter(wallet, place), more);
    });
  },
};
