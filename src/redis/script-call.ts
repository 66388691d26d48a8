/**
 * Calls scripts with named inputs. The header of a script in `lua/` names its keys and arguments in order. A
 * description names the inputs that callers give, and parses replies. The two are compared once, when the script is
 * loaded.
 */

import type { Redis } from 'ioredis';
import { runScript, type Script, type ScriptArgument } from './lua.ts';

/** Type of the inputs with these names. A name that ends in `...` is a list, whose items come last. */
type Inputs<Name extends string, Value> = {
  readonly [N in Name as N extends `${infer List}...` ? List : N]: N extends `${string}...`
    ? readonly Value[]
    : Value;
};

/** Description of a script for its callers. */
export interface ScriptCall<Key extends string = string, Arg extends string = string, Reply = unknown> {
  /** Name of the file in `lua/`, without the extension. */
  readonly name: string;
  /** Names of the keys that callers give, in any order. */
  readonly keys: readonly Key[];
  /** Names of the arguments, in any order. */
  readonly args: readonly Arg[];
  /** Converts Redis' reply to a typed value. */
  readonly read: (reply: unknown) => Reply;
}

/** Inputs of a call, by name. */
export type InputOf<Call> =
  Call extends ScriptCall<infer Key, infer Arg, unknown>
    ? Inputs<Key, string> & Inputs<Arg, ScriptArgument>
    : never;

export type ReplyOf<Call> = Call extends ScriptCall<string, string, infer Reply> ? Reply : never;

export const describeScript = <const Key extends string, const Arg extends string, Reply>(
  call: ScriptCall<Key, Arg, Reply>,
): ScriptCall<Key, Arg, Reply> => call;

/** Position of one key or argument. */
interface Slot {
  readonly name: string;
  readonly isList: boolean;
  /** Key that is the same in every call. */
  readonly fixed: string | undefined;
}

const camelCase = (name: string): string =>
  name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

function slotsOf(names: readonly string[], fixed: Readonly<Record<string, string>>): Slot[] {
  return names.map((name) => {
    const isList = name.endsWith('...');
    const input = camelCase(isList ? name.slice(0, -3) : name);
    return { name: input, isList, fixed: fixed[input] };
  });
}

function checkNames(
  script: string,
  what: string,
  slots: readonly Slot[],
  described: readonly string[],
): void {
  const given = slots.filter(({ fixed }) => fixed === undefined);
  const inHeader = given.map(({ name, isList }) => (isList ? `${name}...` : name)).sort();
  const inCall = [...described].sort();
  if (inHeader.join() !== inCall.join())
    throw new Error(`${script}: its header names the ${what} ${inHeader}, its callers name ${inCall}`);
}

function valuesOf<Value>(slots: readonly Slot[], input: Readonly<Record<string, unknown>>): Value[] {
  const values: unknown[] = [];
  for (const { name, isList, fixed } of slots) {
    if (isList) for (const item of input[name] as readonly unknown[]) values.push(item);
    else values.push(fixed ?? input[name]);
  }
  return values as Value[];
}

/** A script with the order of its keys and arguments. It is built once and used by every call. */
export class LoadedCall<Call extends ScriptCall<string, string, unknown>> {
  readonly script: Script;
  readonly #call: Call;
  readonly #keys: readonly Slot[];
  readonly #args: readonly Slot[];

  /**
   * @param fixed keys that are the same in every call, by name; callers do not give them
   * @throws Error if the header and the description name different keys or arguments
   */
  constructor(call: Call, script: Script, fixed: Readonly<Record<string, string>> = {}) {
    this.#call = call;
    this.script = script;
    this.#keys = slotsOf(script.keys, fixed);
    this.#args = slotsOf(script.args, {});
    checkNames(call.name, 'keys', this.#keys, call.keys);
    checkNames(call.name, 'arguments', this.#args, call.args);
  }

  /** Returns the keys of a call in the order of the header. */
  keysOf(input: InputOf<Call>): string[] {
    return valuesOf(this.#keys, input as Readonly<Record<string, unknown>>);
  }

  /** Returns the arguments of a call in the order of the header. */
  argsOf(input: InputOf<Call>): ScriptArgument[] {
    return valuesOf(this.#args, input as Readonly<Record<string, unknown>>);
  }

  /** Runs the script and returns Redis' reply; see `runScript`. */
  send(redis: Redis, input: InputOf<Call>): Promise<unknown> {
    return runScript(redis, this.script, this.keysOf(input), this.argsOf(input));
  }

  /** Converts Redis' reply to a typed value. */
  read(reply: unknown): ReplyOf<Call> {
    return this.#call.read(reply) as ReplyOf<Call>;
  }

  /** Runs the script and parses its reply. */
  async run(redis: Redis, input: InputOf<Call>): Promise<ReplyOf<Call>> {
    return this.read(await this.send(redis, input));
  }
}
