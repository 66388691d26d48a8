/** One choice of the scheduler. A history is the list of them: replaying a part of it is a shorter history. */

import type { Operation } from './operations.ts';

export type Decision =
  /** The server runs the oldest command of a link, and the reply is delivered. */
  | readonly ['serve', link: string]
  /** The server runs it, and the reply waits. */
  | readonly ['run', link: string]
  | readonly ['deliver', link: string]
  /** The server runs the oldest of what was under way when the link broke. */
  | readonly ['late', link: string]
  /** The link breaks; of what was sent, the first `kept` commands still reach the server. */
  | readonly ['cut', link: string, kept: number]
  | readonly ['connect', link: string]
  /** The client gives up its oldest command, which stays under way. */
  | readonly ['abandon', link: string]
  /** Postgres ends a statement that waits for a lock. */
  | readonly ['lock timeout', link: string]
  | readonly ['timer', number: number]
  /** All clocks go on. */
  | readonly ['pass', ms: number]
  /** The clock of the engine's server alone steps. */
  | readonly ['step clock', ms: number]
  /** The clock of one process steps. */
  | readonly ['step own clock', actor: string, ms: number]
  | readonly ['start', actor: string, operation: Operation]
  | readonly ['repeat', actor: string, request: number]
  | readonly ['wake', actor: string]
  /** The process ends and is started again. */
  | readonly ['crash', actor: string, kept: number]
  /** The engine's server starts again on its data. */
  | readonly ['restart redis', kept: number]
  | readonly ['forget scripts']
  /** The engine's server loses all it holds, with or without breaking connections. */
  | readonly ['lose redis', breaks: boolean]
  /** A replica follows no further than to here. */
  | readonly ['replica lags']
  /** The server ends, and that replica takes its place. */
  | readonly ['fail over'];

export interface Weighed {
  readonly decision: Decision;
  readonly weight: number;
}
