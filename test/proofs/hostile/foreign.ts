/** Asks protected routes for another wallet's ids. The replies must be those for ids that never existed, byte for byte. */

import { CURSOR_LENGTH } from '../../../src/contract/cursor.ts';
import { addressOf, ask, bodyOf, type Plain, placeResting, RESTING } from './client.ts';
import type { Operation } from './operations.ts';
import type { Scene } from './target.ts';
import { itemName } from './values.ts';
import { Line, type WireReply } from './wire.ts';
import type { SignedIn } from './world.ts';

/** An id of the victim, and others of the same form that nothing has. */
interface Foreign {
  /** Name of the parameter or member that takes it. */
  readonly name: string;
  readonly id: string;
  readonly never: readonly string[];
}

/** Headers that differ between any two replies. */
const OWN_HEADERS = new Set(['x-request-id', 'date', 'ratelimit-remaining', 'ratelimit-reset']);

/** @returns number of compared replies */
export async function probeForeign(scene: Scene, victim: SignedIn, attacker: SignedIn): Promise<number> {
  const line = new Line(scene.api[0]!);
  const orders = await victimOrders(line, victim);
  const foreign = [
    ...orders.flatMap(({ id, clientOrderId }): Foreign[] => [
      { name: 'orderId', id, never: [beyond(id), `${id.slice(0, -6)}fffffe`] },
      { name: 'clientOrderId', id: clientOrderId, never: [clientOrderId.replace('private', 'neither')] },
    ]),
    { name: 'address', id: victim.address, never: [`0x${'12'.repeat(20)}`] },
    { name: 'account', id: victim.address, never: [`0x${'12'.repeat(20)}`] },
    ...(await cursorsOf(line, victim)),
  ];
  let compared = 0;
  for (const { name, id, never } of foreign) {
    for (const plainOf of probesOf(scene.operations, name, attacker)) {
      const reply = await send(line, scene, plainOf(id));
      for (const other of never) {
        compared += 1;
        const expected = normal(await send(line, scene, plainOf(other)), other);
        const told = normal(reply, id);
        if (told === expected) continue;
        const plain = plainOf(id);
        scene.findings.add(
          "another wallet's ids give nothing away",
          `${plain.method} ${plain.path.split('?')[0]!.replace(id, `{${name}}`)} by ${name}`,
          `${JSON.stringify(plain.body ?? plain.path)}:\n    ${told}\n    and for an id of nothing:\n    ${expected}`,
        );
      }
    }
  }
  await expectUntouched(line, scene, victim, orders);
  line.close();
  return compared;
}

/** Sequences of the engine are far below. */
const beyond = (id: string): string => `${id.slice(0, -8)}ffffff${id.slice(-2)}`;

interface VictimOrder {
  readonly id: string;
  readonly clientOrderId: string;
  readonly status: unknown;
}

async function victimOrders(line: Line, { token }: SignedIn): Promise<VictimOrder[]> {
  const place = async (clientOrderId: string): Promise<VictimOrder> => {
    const reply = await placeResting(line, token, clientOrderId);
    if (reply.status !== 200) throw new Error(`the victim cannot place: ${reply.text}`);
    const { id, status } = bodyOf(reply);
    return { id: String(id), clientOrderId, status };
  };
  const live = await place('private-live');
  const closed = await place('private-closed');
  await ask(line, { method: 'DELETE', path: `/v1/orders/${closed.id}`, token });
  return [live, { ...closed, status: 'cancelled' }];
}

async function cursorsOf(line: Line, { token }: SignedIn): Promise<Foreign[]> {
  const read = async (path: string) => bodyOf(await ask(line, { method: 'GET', path, token }));
  const page = await read('/v1/orders?limit=1');
  const changes = await read('/v1/orders/changes');
  const never = ['A'.repeat(CURSOR_LENGTH), 'z9-_'.repeat(CURSOR_LENGTH / 4)];
  return [
    { name: 'cursor', id: String(page.nextCursor), never },
    { name: 'after', id: String(changes.cursor), never },
  ];
}

/** Returns a request for each protected operation that takes the name, in its path, its query or its body. */
function probesOf(
  operations: readonly Operation[],
  name: string,
  { token }: SignedIn,
): ((id: string) => Plain)[] {
  return operations
    .filter(({ needsSession }) => needsSession)
    .flatMap(({ method, path, parameters, members }) => {
      const parameter = parameters.find((one) => one.name === name);
      if (parameter?.in === 'path')
        return [
          (id: string): Plain => ({ method, token, path: path.replace(`{${name}}`, encodeURIComponent(id)) }),
        ];
      if (parameter?.in === 'query')
        return [
          (id: string): Plain => ({ method, token, path: `${path}?${name}=${encodeURIComponent(id)}` }),
        ];
      const list = [...members.keys()].find((one) => one !== name && itemName(one) === name);
      if (list !== undefined)
        return [(id: string): Plain => ({ method, path, token, body: { [list]: [id] } })];
      if (!members.has(name)) return [];
      // A client order id alone is a look-up; an account is checked once the order is whole.
      const rest = name === 'clientOrderId' ? {} : RESTING;
      return [(id: string): Plain => ({ method, path, token, body: { ...rest, [name]: id } })];
    });
}

async function send(line: Line, { judge }: Scene, plain: Plain): Promise<WireReply> {
  const reply = await ask(line, { ...plain, from: addressOf(6, 0) });
  judge.reply({ ...plain, again: () => `${plain.method} ${plain.path}` }, reply);
  return reply;
}

/** The reply without what differs between any two, and with the id that was sent written alike. */
function normal({ status, headers, text }: WireReply, id: string): string {
  const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name));
  return [status, JSON.stringify(kept.sort()), text].join(' ').replaceAll(id, '<id>');
}

/** The victim's orders are as they were: no cancel of a stranger reached them. */
async function expectUntouched(
  line: Line,
  { findings }: Scene,
  victim: SignedIn,
  orders: readonly VictimOrder[],
): Promise<void> {
  for (const { id, status } of orders) {
    const reply = await ask(line, { method: 'GET', path: `/v1/orders/${id}`, token: victim.token });
    const { order } = bodyOf(reply) as { order?: { status: unknown } };
    if (order?.status !== status)
      findings.add('no wallet changes what another has', 'an order of another wallet', reply.text);
  }
}
