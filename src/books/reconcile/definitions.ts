/** Definitions of the checks that hold the engine against the ledger. */

/** A check, by its name in every report. */
export interface CheckDefinition {
  readonly name: string;
  /** The rule, in a sentence. */
  readonly meaning: string;
  /** The proof that the check relies on, and who promises it. */
  readonly proof: string;
}

export const ENGINE_CHECKS = {
  conservation: {
    name: 'conservation',
    meaning:
      'all balances and the fees earned add up to what was deposited and not withdrawn, and what wallets owe',
    proof: 'sums of whole numbers that one script changes together, at one event',
  },
  reserved: {
    name: 'reserved = live orders',
    meaning: 'what each account has reserved is what its live orders need, and no balance is negative',
    proof: 'live orders of Postgres at one event, and the events since, which the stream keeps without gaps',
  },
  supply: {
    name: 'supply = credits - debits',
    meaning: 'the supply in Redis is the deposits less the withdrawals in Postgres, and what wallets owe',
    proof: 'entries of Postgres at one event, and the events since',
  },
  totals: {
    name: 'Redis = Postgres',
    meaning:
      'each account has in Redis, and each wallet owes there, what its ledger entries in Postgres add up to at the same event',
    proof: 'entries of Postgres at one event, and the events since; the order of events and no clock',
  },
  book: {
    name: 'book = live orders',
    meaning:
      'the books in Redis hold exactly the orders that are live in Postgres at the same event, each with its price, owner and rest',
    proof:
      'live orders of Postgres at one event, and the events since; the order of bytes in a sorted set, which Redis promises',
  },
  levels: {
    name: 'levels = orders of the book',
    meaning: 'the size at each price in Redis is the sum of the orders that rest there',
    proof: 'live orders of Postgres at one event, and the events since',
  },
  liveList: {
    name: 'live list = live orders',
    meaning:
      'the engine lists exactly the orders that are live, each with its owner, size and client order id',
    proof: 'live orders of Postgres at one event, and the events since; the order of bytes in a sorted set',
  },
  filter: {
    name: 'used ids are known',
    meaning:
      'the claim filter has every client order id and every reference of a deposit or withdrawal in Postgres',
    proof: 'ids in Postgres; a filter that only gains bits, copied after the snapshot',
  },
  claims: {
    name: 'recent claims',
    meaning:
      'an id that was used a short while ago stands in Redis for what it stands for in Postgres, and no other id does',
    proof: 'orders and movements of Postgres, by id',
  },
  generations: {
    name: 'generations of claims',
    meaning:
      'each claim stands in the generation that was written when it was made, so that none is dropped early',
    proof: 'events of the claims, against the event at which the engine noted its turn',
  },
  switches: {
    name: 'switches = their events',
    meaning:
      'pause, holds, takes of withdrawals, terms and the versions of markets are in Redis what the events in Postgres made them',
    proof: 'settings in Postgres at one event, and the events since',
  },
  trading: {
    name: 'last price and trade counter',
    meaning:
      'the last price of each market is that of its last trade, and the next trade id follows the last one',
    proof: 'the last trade of Postgres, and the events since; trade ids may have gaps',
  },
  marks: {
    name: 'marks of settlement',
    meaning: 'what the engine takes for settled is settled, and its epoch and generations are possible ones',
    proof: 'numbers of events against the cursor; the clock of Redis alone for times that it wrote itself',
  },
  markets: {
    name: 'rules of markets',
    meaning: 'each market has in Redis the record that Postgres has, and neither has another market',
    proof: 'records in Postgres at one event, and the events since',
  },
  assets: {
    name: 'assets and scales',
    meaning: 'Redis, Postgres and the markets have the same assets, each with one scale',
    proof: 'assets and markets of Postgres at one event, and the events since',
  },
  history: {
    name: 'one history',
    meaning:
      'the last event that Postgres has is the one the engine has in that place, and the engine stands where its stream ends',
    proof: 'digest, epoch and time of the event at the cursor, in the stream and in Postgres',
  },
  keys: {
    name: 'keys are of the engine',
    meaning:
      'each key under the tag of Redbook belongs to the engine, to one of its markets or assets, or to the queue, and Redis removes none of the engine by itself',
    proof: 'names and times of keys; a scan of Redis returns each key that stays all the while',
  },
  users: {
    name: 'users of Redis are those of the release',
    meaning:
      'nobody may log in to the engine beside the users that the release makes, and none of them may do more than it gives them',
    proof:
      'names and rights that Redis lists, where the process has a user of the release or none; rights that are missing end a start',
  },
  deadMan: {
    name: 'dead-man switches',
    meaning: 'each switch is due when it was set to be, and each that was taken covers events of the engine',
    proof: 'two places of the engine that one script changes together: Postgres does not know them',
  },
  unsettled: {
    name: 'unsettled index',
    meaning:
      'lists find each event that Postgres may not have yet under the wallets that it touches, and no other event; each entry stands in the generation that was written when it was made',
    proof: 'events of the stream, and the event at which the engine noted its turn',
  },
  readable: {
    name: 'records can be read',
    meaning: 'the engine could not be held against the ledger, because a stored value cannot be read',
    proof: 'nothing: it stands for checks that a damaged value has ended',
  },
} as const satisfies Readonly<Record<string, CheckDefinition>>;
