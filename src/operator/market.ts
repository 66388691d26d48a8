import type { Command } from 'commander';
import { addOperation } from './operation.ts';
import { changeMarket, clearOrders, createMarket, getMarkets } from './operations/markets.ts';
import { addNoun, type RunCommand } from './verb.ts';

export function addMarketCommands(program: Command, perform: RunCommand): void {
  const market = addNoun(program, 'market', 'create and change markets');
  for (const one of [createMarket, changeMarket, clearOrders, getMarkets]) addOperation(market, perform, one);
}
