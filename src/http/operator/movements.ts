/** `/operator/v1/movements`: books deposits and withdrawals that leave at once, and finds them by their reference. */

import { bookMovements } from '../../books/movement-batch.ts';
import { type AskedMovement, findMovement } from '../../books/movements.ts';
import {
  movementRequest,
  type movementResultSchema,
  movementResultsSchema,
  movementsRequest,
  movementsSchema,
  referenceRequest,
} from '../../contract/operator.ts';
import type { Written } from '../../contract/written.ts';
import type { Act } from '../../domain/act.ts';
import { Refusal } from '../../domain/errors.ts';
import type { AccountMoved, MovementKind } from '../../domain/event.ts';
import { formatScaled } from '../../domain/units.ts';
import { checked } from '../checked.ts';
import { errorMember, isReported } from '../replies/error.ts';
import { actBy, hasRight, type OperatorCall, operatorRoute } from './route.ts';

type Result = Written<typeof movementResultSchema>;

const KINDS = {
  deposit: { booked: 'credited', right: 'credit' },
  withdrawal: { booked: 'debited', right: 'debit' },
} as const;

const kindOf = (booked: MovementKind): keyof typeof KINDS =>
  booked === 'credited' ? 'deposit' : 'withdrawal';

/** @throws Refusal VALIDATION_ERROR | FORBIDDEN */
function askedMovement({ key }: OperatorCall, sent: unknown): AskedMovement & { readonly act: Act } {
  const { kind, wallet, asset, amount, reference, reverses, reason } = checked(movementRequest, sent);
  const { booked, right } = KINDS[kind];
  if (!hasRight(key, right)) throw new Refusal('FORBIDDEN', `the key may not ${right}`);
  const movement = { kind: booked, wallet, asset, amount, reference, act: actBy(key, reason) };
  return reverses === undefined ? movement : { ...movement, reverses };
}

/** Returns the results of some work, one for each item. */
const attempt = <Item, Result>(items: readonly Item[], work: (item: Item) => Result) =>
  Promise.allSettled(items.map(async (item) => work(item)));

export const postMovements = operatorRoute({
  method: 'POST',
  path: '/movements',
  rights: ['credit', 'debit'],
  id: 'bookMovements',
  tag: 'Money',
  summary: 'Books deposits and withdrawals',
  description:
    'Each movement is answered by itself: 201 if it is new, 200 if it was booked before, 409 if its reference was used for another one. After a lost answer, send the same movements again.',
  reply: movementResultsSchema,
  request: movementsRequest,
  readsBody: true,
  async handle(call, write) {
    const { services, key, body } = call;
    const { movements } = checked(movementsRequest, body);
    const asked = await attempt(movements, (sent) => askedMovement(call, sent));
    const valid = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const booked = await bookMovements(services, valid, key);
    services.wakeSettlement();
    let next = 0;
    const results = asked.map((one): Result => {
      if (one.status === 'rejected') return failed(services, one.reason);
      const answer = booked[next++]!;
      if (answer.status === 'rejected') return failed(services, answer.reason);
      const { amount, duplicate } = answer.value;
      return { ...shown({ ...one.value, amount }), status: duplicate ? 200 : 201 };
    });
    return write.json({ results });
  },
});

const shown = ({
  kind,
  ...movement
}: Pick<AccountMoved, 'reference' | 'kind' | 'wallet' | 'asset'> & { readonly amount: string }) => ({
  reference: movement.reference,
  kind: kindOf(kind),
  wallet: movement.wallet,
  asset: movement.asset,
  amount: movement.amount,
});

function failed({ logger }: OperatorCall['services'], error: unknown): Result {
  if (isReported(error)) return { status: error.status, ...errorMember(error) };
  logger.error({ err: error }, 'a movement failed');
  const { status, code, message } = new Refusal('INTERNAL_ERROR');
  return { status, error: message, code };
}

export const getMovement = operatorRoute({
  method: 'GET',
  path: '/movements/:reference',
  rights: ['read', 'credit', 'debit'],
  id: 'findMovement',
  tag: 'Money',
  summary: 'Returns the movements that a reference stands for',
  description: 'A reference may stand for one deposit and one withdrawal.',
  reply: movementsSchema,
  codes: ['NOT_FOUND'],
  request: referenceRequest,
  async handle({ services, params }, write) {
    const { reference } = checked(referenceRequest, params);
    const found = await Promise.all(
      Object.values(KINDS).map(({ booked }) => findMovement(services, booked, reference)),
    );
    // A withdrawal in two steps is found among the withdrawals.
    const movements = found.flatMap((one) => (one === null || one.kind === 'requested' ? [] : [one]));
    if (movements.length === 0) throw new Refusal('NOT_FOUND');
    const assets = await services.engine.assets.all();
    const scaleOf = (asset: string): number => assets.find(({ symbol }) => symbol === asset)!.scale;
    return write.json({
      movements: movements.map((one) =>
        shown({ ...one, amount: formatScaled(one.amountAtoms, scaleOf(one.asset)) }),
      ),
    });
  },
});
