/** A database that this release, or this process, cannot work on. */

/** The database is of another release or of none, is behind the wrong pooler, or refuses the process a right. */
export class DatabaseRefused extends Error {}

/** SQLSTATE of a statement that its user may not run. */
export const NO_RIGHT = '42501';
