/** Routes for operators: each object is all of a route, and names the rights of which a key needs one. */

import type { z } from 'zod';
import type { Act } from '../../domain/act.ts';
import type { OperatorKey, OperatorRight } from '../../domain/operator-rights.ts';
import type { OPERATOR_TAGS, Operation, OperationServices } from '../../operator/operation.ts';
import { checked } from '../checked.ts';
import { json, type Reply, type Writers } from '../replies/reply.ts';
import type { ChunkedReply } from '../response/index.ts';
import type { Described, Method, Query, Reads } from '../route.ts';
import type { ProbeServices } from '../services.ts';

/** Services that a process passes to its application for operators. */
export interface OperatorServices extends ProbeServices, OperationServices {
  readonly serviceName: string;
  /** Tells settlement that there are new events. Coalesces calls, returns at once and never throws. */
  wakeSettlement(): void;
}

/** A request whose key has the right that the route asks for. */
export interface OperatorCall {
  readonly services: OperatorServices;
  readonly key: OperatorKey;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Parsed body, if the route reads one. */
  readonly body: unknown;
}

interface OperatorRouteOf<Schema extends z.ZodType> extends Described<Schema>, Omit<Reads, 'bodyLimits'> {
  readonly method: Method;
  readonly path: string;
  /** One of these is enough. */
  readonly rights: readonly OperatorRight[];
  readonly tag: keyof typeof OPERATOR_TAGS;
  handle(call: OperatorCall, write: Writers<Schema>): Promise<Reply | ChunkedReply>;
}

export type OperatorRoute = OperatorRouteOf<z.ZodType>;

const OPERATOR_PREFIX = '/operator/v1';

/** @param route its path without the prefix */
export const operatorRoute = <Schema extends z.ZodType>(route: OperatorRouteOf<Schema>): OperatorRoute => ({
  ...route,
  path: `${OPERATOR_PREFIX}${route.path}`,
});

export const hasRight = ({ rights }: Pick<OperatorKey, 'rights'>, right: OperatorRight): boolean =>
  rights.includes(right);

/** Returns the act of a call: the key is who does it. */
export const actBy = ({ name }: Pick<OperatorKey, 'name'>, reason: string): Act => ({ by: name, reason });

/** Returns the route of an operation. Every act wakes settlement, whatever became of it. */
export function routeOf(operation: Operation): OperatorRoute {
  const { method, params, body: asked, usualReason, run } = operation;
  const isAct = method === 'POST';
  return operatorRoute({
    ...operation,
    ...(isAct && { request: asked!, readsBody: true as const }),
    ...(!isAct && params !== undefined && { request: params }),
    ...(isAct && params !== undefined && { parameters: params.shape }),
    async handle({ services, key, params: named, body }) {
      const input = params === undefined ? {} : checked<object>(params, named);
      if (!isAct) return json((await run(services, input, { act: actBy(key, ''), key })).reply);
      const { reason = usualReason, ...given } = checked<{ reason?: string }>(asked!, body);
      const act = actBy(key, reason!);
      try {
        const { reply, isNew } = await run(services, { ...input, ...given }, { act, key });
        return json(reply, operation.mayCreate && isNew ? 201 : 200);
      } finally {
        services.wakeSettlement();
      }
    },
  });
}
