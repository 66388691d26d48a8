/** Verbs and answers that deposits and withdrawals share: both begin under a reference, and later steps name it. */

import type { Command } from 'commander';
import { shown } from '../../domain/text.ts';
import type { Decimal } from '../../domain/units.ts';
import { AMOUNT, ASSET, readDecimal, readWallet, WALLET } from '../arguments.ts';
import { type CommandResult, shortResult } from '../verb.ts';

export const REPEAT = '\nIf the outcome is unknown, repeat the command: it counts only once.';

type Kind = 'deposit' | 'withdrawal';

interface Referenced {
  readonly reference: string;
  readonly wallet: string;
  readonly asset: string;
  readonly amount: string;
  readonly state: string;
}

/** A deposit or a withdrawal as it is now; `isNew` is false if the step was done before. */
interface Told<Reply extends Referenced> {
  readonly reply: Reply;
  readonly isNew?: boolean | undefined;
}

type Answer<Reply extends Referenced> = (told: Told<Reply>) => CommandResult;

/** @param detailOf returns what the sentence tells after the state */
export const answerOf =
  <Reply extends Referenced>(kind: Kind, detailOf: (reply: Reply) => string): Answer<Reply> =>
  ({ reply, isNew = true }) => {
    const { reference, wallet, asset, amount, state } = reply;
    const earlier = isNew ? '' : ': known already, nothing changed';
    return shortResult(
      `${kind} ${shown(reference)} of ${amount} ${asset} for ${wallet} is ${state}${detailOf(reply)}${earlier}`,
      { ...reply, duplicate: !isNew },
    );
  };

export const withReference = (command: Command, kind: Kind): Command =>
  command.argument('<reference>', `reference of the ${kind}`);

/** Returns a verb that needs nothing but the reference. */
const referenceVerb = <Reply extends Referenced>(
  kind: Kind,
  verb: string,
  describe: (command: Command) => Command,
  answer: Answer<Reply>,
) => ({
  verb,
  describe: (command: Command) => describe(withReference(command, kind)),
  input: (reference: string) => ({ reference }),
  answer,
});

/** Returns the verb of a step that needs nothing but the reference. */
export const stepVerb = <Reply extends Referenced>(
  kind: Kind,
  verb: string,
  description: string,
  answer: Answer<Reply>,
) =>
  referenceVerb(
    kind,
    verb,
    (command) => command.addHelpText('after', REPEAT).description(description),
    answer,
  );

export const showVerb = <Reply extends Referenced>(kind: Kind, description: string, answer: Answer<Reply>) =>
  referenceVerb(kind, 'show', (command) => command.description(description), answer);

/** Returns the verb that begins one under a reference of its own. */
export const beginVerb = <Reply extends Referenced>(
  kind: Kind,
  verb: string,
  description: string,
  answer: Answer<Reply>,
) => ({
  verb,
  describe: (command: Command) =>
    command
      .argument('<wallet>', WALLET, readWallet)
      .argument('<asset>', ASSET)
      .argument('<amount>', AMOUNT, readDecimal)
      .requiredOption('--reference <id>', `unique reference of the ${kind}`)
      .addHelpText('after', REPEAT)
      .description(description),
  input: (wallet: string, asset: string, amount: Decimal, { reference }: { reference: string }) => ({
    wallet,
    asset,
    amount,
    reference,
  }),
  answer,
});
