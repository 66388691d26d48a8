/** Services that a process passes to its application for operators. */

import type { z } from 'zod';
import type { StatusSources } from '../../books/status.ts';
import type { Act } from '../../domain/act.ts';
import type { OperatorKey, OperatorRight } from '../../domain/operator-rights.ts';
import type { Query } from '../endpoint.ts';
import type { Reply } from '../replies/reply.ts';
import type { ChunkedReply } from '../response/index.ts';
import type { ProbeServices } from '../services.ts';

export interface OperatorServices extends ProbeServices, StatusSources {
  readonly serviceName: string;
  /** Network ID of a new market that does not name its own. */
  readonly networkId: string;
  /** Tells settlement that there are new events. Coalesces calls, returns at once and never throws. */
  wakeSettlement(): void;
}

/** A request whose key has the right that the route asks for. */
export interface OperatorCall {
  readonly services: OperatorServices;
  readonly key: OperatorKey;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** Parsed body, if the endpoint reads one. */
  readonly body: unknown;
}

export interface OperatorEndpoint {
  /** Schema of the body if the endpoint reads one, otherwise of query and path. */
  readonly request?: z.ZodType;
  readonly readsBody?: true;
  handle(call: OperatorCall): Promise<Reply | ChunkedReply>;
}

export const hasRight = ({ rights }: Pick<OperatorKey, 'rights'>, right: OperatorRight): boolean =>
  rights.includes(right);

/** Returns the act of a call: the key is who does it. */
export const actBy = ({ name }: Pick<OperatorKey, 'name'>, reason: string): Act => ({ by: name, reason });
