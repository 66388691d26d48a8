/** Routes for operators: each object is all of a route, and names the rights of which a key needs one. */

import type { z } from 'zod';
import type { StatusSources } from '../../books/status.ts';
import type { Act } from '../../domain/act.ts';
import type { OperatorKey, OperatorRight } from '../../domain/operator-rights.ts';
import type { Reply, Writers } from '../replies/reply.ts';
import type { ChunkedReply } from '../response/index.ts';
import type { Described, Method, Query, Reads } from '../route.ts';
import type { ProbeServices } from '../services.ts';

/** Services that a process passes to its application for operators. */
export interface OperatorServices extends ProbeServices, StatusSources {
  readonly serviceName: string;
  /** Network ID of a new market that does not name its own. */
  readonly networkId: string;
  /** Tells settlement that there are new events. Coalesces calls, returns at once and never throws. */
  wakeSettlement(): void;
}

export const OPERATOR_TAGS = {
  Money: 'Deposits and withdrawals, each under a reference that counts once.',
  Wallets: 'Balances, live orders, holds and statements.',
  Markets: 'Markets, assets and single orders.',
  Finance: 'Reports of any length, as JSON or CSV. Two at once; an answer that is cut off is no whole one.',
  Service: 'The kill switch, terms, and the state of the service.',
  Operation: 'Probes and metrics of the process.',
} as const;

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
