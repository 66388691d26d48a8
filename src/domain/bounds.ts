/**
 * Lists every bound over all callers, and limits of one holder that are no settings. `docs/hostile-input.md` shows both
 * lists; a test compares them.
 */

import type { BoundRule } from './bound.ts';

const MIB = 1024 * 1024;

/** Bytes of replies that their client does not take, and of requests behind others of their connection. */
export const UNREAD_REPLIES: BoundRule = { ofHolder: 8 * MIB, inAll: 128 * MIB };
/** The first reads of a wallet's lists and orders that wait for a turn. */
export const WAITING_READS: BoundRule = { ofHolder: 64, inAll: 4_096 };
/** Orders and cancels that wait for the engine. */
export const WAITING_COMMANDS: BoundRule = { ofHolder: 256, inAll: 16_384 };
/** Requests that wait for changes. Each holds a timer and its connection. */
export const WAITS: BoundRule = { ofHolder: 10, inAll: 20_000 };
/** Sign-ins that wait for Redis, challenges and answers alike. One address may send all of a minute at once. */
export const SIGN_INS: BoundRule = { ofHolder: 256, inAll: 4_096 };
/** Deposits that are announced, by who announced them. They are in Postgres, and the numbers hold over all processes. */
export const ANNOUNCED_DEPOSITS: BoundRule = { ofHolder: 10_000, inAll: 50_000 };
/** Reports of finance. Each holds a connection to Postgres for as long as its reader takes. */
export const REPORTS: BoundRule = { ofHolder: 2, inAll: 2 };

/** Movements that a key asks for and that wait for another key. They are in Postgres: the number holds over all processes. */
export const WAITING_MOVEMENTS = 1_000;
