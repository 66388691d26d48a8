/**
 * Undoes what loading ioredis does to strings: a class of its extends String, and V8 then looks up each method of a
 * string in a dictionary. That takes 3 ns a call everywhere in the process: 7 % of an order.
 */

import 'ioredis';

/** V8 makes a prototype fast again when code that has run some ten times reads from an object that inherits from it. */
const READS = 100;

const methodOf = (heir: string): unknown => heir.charCodeAt;

const heir = Object.create(String.prototype);
for (let read = 0; read < READS; read += 1) methodOf(heir);
