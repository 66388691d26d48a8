/** `GET /v1/orders/changes`: returns changes of the wallet's orders after a cursor, oldest first. */

import { checked } from '../../contract/checked.ts';
import { readWidePlace, writePlace } from '../../contract/list-cursor.ts';
import { changesRequest } from '../../contract/requests.ts';
import { withTimeLimit } from '../../domain/time-limit.ts';
import {
  type ChangePlace,
  type ChangesPart,
  changesInTail,
  presentPlace,
  readChanges,
} from '../../history/order-changes.ts';
import type { WalletReads } from '../../history/wallet-reads.ts';
import { orderChangesSchema } from '../../order/reply.ts';
import { findMarkets } from '../replies/market.ts';
import { changeReply } from '../replies/order.ts';
import { jsonForSeveral, jsonText, type Reply } from '../replies/reply.ts';
import { unreadReplies, waitOut } from '../response/index.ts';
import { READS_IN_TURN, type WalletCall, walletRoute } from '../route.ts';
import type { Services } from '../services.ts';

/** A cursor has the server, packs the sequence below the epoch, and the key below the kind. */
const EPOCH_AT = 48n;
const KIND_AT = 56n;
/** Ids of trades and sequences are below 2^53. */
const MAX_KEY_BITS = 53;

/** Least time for a read, also at the end of a wait. */
const LEAST_READ_MS = 2_500;

const scopeOf = (wallet: string) => ({ list: 'changes', wallet });

const writeAfter = (wallet: string, { server, epoch, sequence, kind, key }: ChangePlace): string =>
  writePlace(scopeOf(wallet), [
    server,
    (BigInt(epoch) << EPOCH_AT) | BigInt(sequence),
    (BigInt(kind) << KIND_AT) | BigInt(key),
  ]);

function readAfter(wallet: string, cursor: string): ChangePlace {
  const place = readWidePlace(scopeOf(wallet), cursor, 3, 'after');
  const [server, event, change] = place as [bigint, bigint, bigint];
  return {
    server,
    epoch: Number(event >> EPOCH_AT),
    sequence: Number(BigInt.asUintN(Number(EPOCH_AT), event)),
    kind: Number(change >> KIND_AT),
    key: Number(BigInt.asUintN(MAX_KEY_BITS, change)),
  };
}

const emptyReply = (cursor: string): Reply => jsonText(`{"changes":[],"cursor":"${cursor}","more":false}`);

export const getOrderChanges = walletRoute({
  method: 'GET',
  path: '/v1/orders/changes',
  id: 'getOrderChanges',
  tag: 'Trading',
  summary: 'Returns changes of orders of the wallet as they happen',
  description:
    'Returns the changes after a cursor, oldest first: placements, each with the fills it took, later fills, and ' +
    'endings. Each change is told once, as long as each request sends the `cursor` of the reply before. Where there ' +
    'is none, the reply waits up to `wait` seconds for the next one. ' +
    READS_IN_TURN,
  reply: orderChangesSchema,
  request: changesRequest,
  async handle({ services, reads, wallet, query, caller, clock }) {
    const { after, wait, limit } = checked(changesRequest, query);
    if (after === undefined) return emptyReply(writeAfter(wallet, await presentPlace(services)));
    let place = readAfter(wallet, after);
    const readFrom = (turns: WalletReads, from: ChangePlace): Promise<Told> =>
      turns.read(wallet, `changes ${Object.values(from)} ${limit}`, async () =>
        tell(services, wallet, await readChanges(services, wallet, from, limit), jsonForSeveral),
      );
    const replyOf = (told: Told): Reply => told.reply ?? emptyReply(writeAfter(wallet, told.place));
    if (wait === 0) return replyOf(await readFrom(reads.lists, place));
    const waiter = await services.changeWaits.enter(wallet, caller);
    const untilMs = performance.now() + wait * 1_000;
    try {
      for (;;) {
        waiter.rest();
        const from = place;
        // Thousands may wake together. The same place again loses nothing, so the end of the wait ends the turn too.
        const told =
          (await tellAtOnce({ services, wallet }, from, limit)) ??
          (await withTimeLimit(
            Math.max(LEAST_READ_MS, untilMs - performance.now()),
            readFrom(reads.changes, from),
            () => ({ place: from, reply: emptyReply(writeAfter(wallet, from)) }),
          ));
        if (told.reply !== undefined) return told.reply;
        place = told.place;
        const isWoken = await waitOut(clock, waiter.next(Math.max(0, untilMs - performance.now())));
        if (!isWoken) return replyOf(told);
      }
    } finally {
      waiter.leave();
    }
  },
});

interface Told {
  /** After the changes that the reply tells. */
  readonly place: ChangePlace;
  /** Undefined without a change: most are not sent, because the request waits for one. */
  readonly reply: Reply | undefined;
}

/** Tells from the events that the process has, without a read; undefined if the stores must be read. */
function tellAtOnce(
  { services, wallet }: Pick<WalletCall, 'services' | 'wallet'>,
  from: ChangePlace,
  limit: number,
): Promise<Told> | undefined {
  unreadReplies.check(wallet);
  const tail = services.changeWaits.tailOf(wallet);
  const part = tail && changesInTail(services, wallet, from, limit, tail);
  return part && tell(services, wallet, part, jsonText);
}

async function tell(
  services: Services,
  wallet: string,
  { changes, place, more }: ChangesPart,
  write: (text: string) => Reply,
): Promise<Told> {
  if (changes.length === 0) return { place, reply: undefined };
  const marketOf = await findMarkets(
    services.engine,
    changes.map(({ order }) => order.order),
  );
  const texts = changes.map((change) => changeReply(change, marketOf(change.order.order)));
  const cursor = writeAfter(wallet, place);
  return { place, reply: write(`{"changes":[${texts.join(',')}],"cursor":"${cursor}","more":${more}}`) };
}
