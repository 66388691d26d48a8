/** Records the commands that a connection to Redis is given. */

import type { Redis } from 'ioredis';

/** Records each later command of the connection, its name first. It is sent all the same. */
export function sentCommands(redis: Redis): string[][] {
  const sent: string[][] = [];
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, ...rest) => {
    sent.push([command.name, ...command.args.map(String)]);
    return send(command, ...rest);
  };
  return sent;
}

/** Counts the calls of scripts. */
export const scriptsAmong = (sent: readonly (readonly string[])[]): number =>
  sent.filter(([name]) => name!.startsWith('eval')).length;
