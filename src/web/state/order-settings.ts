/** Choices of the order form that are kept in this browser. */

import type { Signal } from '@preact/signals';
import { ASK_AT, type AskAt } from '../figures/guard.ts';
import { kept } from './kept-choice.ts';

/** Losses in per cent from which on the reader is asked before an order is sent, by its type. */
export const askAt: Readonly<Record<'limit' | 'market', Signal<AskAt>>> = {
  limit: kept('ask-limit', ASK_AT, '2'),
  market: kept('ask-market', ASK_AT, '1'),
};

/** Moves of an order are asked about always, or only where another order would be. */
export const askMove: Signal<'always' | 'losses'> = kept('ask-move', ['always', 'losses'], 'always');

export const SLIPPAGES = ['0.1', '0.5', '1', '2', '5'] as const;

/** Per cent beyond the worst price shown that a market order may pay. */
export const slippage: Signal<(typeof SLIPPAGES)[number]> = kept('slippage', SLIPPAGES, '1');

/** A click on the book chooses the side that takes the clicked order, or leaves the side. */
export const bookClick: Signal<'takes' | 'leaves'> = kept('book-click', ['takes', 'leaves'], 'takes');
