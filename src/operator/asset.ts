import type { Command } from 'commander';
import { type ActOptions, actOf, withAct } from './acts.ts';
import { readWholeNumber } from './arguments.ts';
import { addNoun, type RunCommand, shortResult } from './verb.ts';

export function addAssetCommands(program: Command, perform: RunCommand): void {
  withAct(addNoun(program, 'asset', 'register assets').command('set'))
    .argument('<symbol>', 'asset symbol: upper-case letters and digits, like USDC')
    .requiredOption('--scale <n>', 'decimals of the asset, 0 to 9', readWholeNumber)
    .description('set the decimals of an asset before its first use (default: 8)')
    .action((symbol: string, { scale, ...options }: ActOptions & { scale: number }) =>
      perform(async ({ engine }) => {
        const asset = await engine.assets.set({ symbol, scale }, actOf(options));
        return shortResult(`${asset.symbol} has ${asset.scale} decimals`, asset);
      }),
    );
}
