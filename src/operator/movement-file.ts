/** Books deposits or withdrawals from lines of JSON, and answers each with a line. */

import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { type BookedMovement, bookMovements } from '../books/book-movements.ts';
import type { AskedMovement } from '../books/movements.ts';
import type { Act } from '../domain/act.ts';
import { ADDRESS_PATTERN } from '../domain/address.ts';
import { OperatorRefusal, Refusal } from '../domain/errors.ts';
import type { AccountMoved } from '../domain/event.ts';
import { parsePlainDecimal } from '../domain/units.ts';
import type { OperatorServices } from './services.ts';
import { type Terminal, write } from './terminal.ts';

/** Lines that are booked at once. */
const LINES_TOGETHER = 64;
const MAX_LINE_CHARACTERS = 8 * 1024;
const MEMBERS = ['reference', 'wallet', 'asset', 'amount', 'reason'];

const malformed = (message: string): OperatorRefusal => new OperatorRefusal('INVALID_LINE', message);

/** Yields the lines of a stream, and only the beginning of a line that is too long. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let line = '';
  for await (const chunk of input.setEncoding('utf8')) {
    const [first = '', ...further] = String(chunk).split('\n');
    line = (line + first).slice(0, MAX_LINE_CHARACTERS + 1);
    for (const next of further) {
      yield line;
      line = next.slice(0, MAX_LINE_CHARACTERS + 1);
    }
  }
  yield line;
}

/** @throws OperatorRefusal INVALID_LINE */
function readLine(
  kind: AccountMoved['kind'],
  line: string,
  given: Act,
): AskedMovement & { readonly act: Act } {
  const fields = fieldsOf(line);
  const { reference, wallet, asset, amount, reason = given.reason } = fields;
  const unknown = Object.keys(fields).find((name) => !MEMBERS.includes(name));
  // A line of a withdrawal must never count as a deposit because its `kind` is not read.
  if (unknown !== undefined)
    throw malformed(`a line has no member ${unknown}: its members are ${MEMBERS.join(', ')}`);
  if (typeof reference !== 'string') throw malformed('reference must be a string');
  if (typeof reason !== 'string') throw malformed('reason must be a string');
  if (typeof wallet !== 'string' || !ADDRESS_PATTERN.test(wallet))
    throw malformed('wallet must be 0x and 40 hex digits');
  if (typeof asset !== 'string') throw malformed('asset must be a string');
  // A JSON number would come as a double, which may be another amount.
  const decimal = typeof amount === 'string' ? parsePlainDecimal(amount) : undefined;
  if (decimal === undefined) throw malformed('amount must be a plain decimal as a string');
  return {
    kind,
    wallet: wallet.toLowerCase(),
    asset,
    amount: decimal,
    reference,
    act: { by: given.by, reason },
  };
}

function fieldsOf(line: string): Record<string, unknown> {
  if (line.length > MAX_LINE_CHARACTERS)
    throw malformed(`a line may have ${MAX_LINE_CHARACTERS} characters at most`);
  try {
    const fields: unknown = JSON.parse(line);
    if (typeof fields === 'object' && fields !== null) return fields as Record<string, unknown>;
  } catch {
    // The refusal below tells it.
  }
  throw malformed('the line is no JSON object');
}

/**
 * Books each line by itself, in order as far as 64 of them go at once.
 * @param path of the file; `-` for the standard input
 * @throws OperatorRefusal FILE_NOT_READ; LINES_REFUSED at the end, if a line was refused
 */
export async function bookFile(
  services: OperatorServices,
  kind: AccountMoved['kind'],
  path: string,
  act: Act,
  terminal: Terminal,
): Promise<void> {
  let [waiting, lines, refused]: [string[], number, number] = [[], 0, 0];
  const flush = async (): Promise<void> => {
    const answers = await answersOf(services, kind, waiting, act);
    lines += waiting.length;
    refused += answers.filter((answer) => 'code' in answer).length;
    waiting = [];
    for (const answer of answers) await write(terminal.out, `${JSON.stringify(answer)}\n`);
  };
  try {
    for await (const line of linesOf(path === '-' ? process.stdin : createReadStream(path))) {
      if (line.trim() !== '') waiting.push(line);
      if (waiting.length === LINES_TOGETHER) await flush();
    }
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw new OperatorRefusal('FILE_NOT_READ', error.message);
  }
  await flush();
  if (refused > 0)
    throw new OperatorRefusal('LINES_REFUSED', `${refused} of ${lines} movements were refused`);
}

type Answer = BookedMovement | { readonly error: string; readonly code: string };

async function answersOf(
  services: OperatorServices,
  kind: AccountMoved['kind'],
  lines: readonly string[],
  act: Act,
): Promise<object[]> {
  const asked = await Promise.allSettled(lines.map(async (line) => readLine(kind, line, act)));
  const valid = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const booked = await bookMovements(services, valid);
  let next = 0;
  return asked.map((one) => {
    if (one.status === 'rejected') return refusalOf(one.reason);
    const { reference, wallet, asset } = one.value;
    const answer = booked[next++]!;
    const outcome: Answer = answer.status === 'fulfilled' ? answer.value : refusalOf(answer.reason);
    return { reference, kind, wallet, asset, ...outcome };
  });
}

/** @throws the error itself if it tells of no refusal */
function refusalOf(error: unknown): { error: string; code: string } {
  if (error instanceof OperatorRefusal || error instanceof Refusal)
    return { error: error.message, code: error.code };
  throw error;
}
