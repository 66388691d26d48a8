/**
 * The acts that close and reopen months. The last act of a month decides: its closing is in force if that act closed
 * it, and has the closing's digest.
 */

/** Its `after` is the digest of the closing, in hex. */
export const CLOSE_ACT = 'ledger close';
/** Its `before` is the digest of the withdrawn closing. */
export const REOPEN_ACT = 'ledger reopen';

/** Name of the turn in which months are closed and reopened. */
export const TURN_OF_CLOSINGS = 'redbook closings';

/** SQL of the condition of an act on a month, as its index has it. */
export const IS_OF_MONTH = `name in ('${CLOSE_ACT}', '${REOPEN_ACT}')`;

/** The closings in force, as a relation; `act` is the event of the act. */
export const CLOSINGS_IN_FORCE = `(
    select closings.*, last.act from (
      select distinct on (subject) subject, name, after, sequence as act from public.operator_acts
      where ${IS_OF_MONTH} order by subject desc, sequence desc) as last
    join public.closings on closings.month = last.subject and encode(closings.digest, 'hex') = last.after
    where last.name = '${CLOSE_ACT}') as in_force`;
