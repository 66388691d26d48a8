/** Keys for the rows of the public tape, whose executions carry no id. */

interface Printed {
  readonly price: string;
  readonly size: string;
  readonly side: string;
  readonly time: number;
}

/**
 * Returns a key for each execution, the same from frame to frame. Executions that agree in everything are numbered from
 * the oldest on, because new ones come in front.
 * @param executions newest first
 */
export function keysOf(executions: readonly Printed[]): string[] {
  const seen = new Map<string, number>();
  const oldestFirst = executions.toReversed().map(({ price, size, side, time }) => {
    const text = `${time} ${side} ${price} ${size}`;
    const number = seen.get(text) ?? 0;
    seen.set(text, number + 1);
    return number === 0 ? text : `${text} ${number}`;
  });
  return oldestFirst.reverse();
}
