/** The kill switch of all trading. It asks for a typed word. */

import type { GetStatus, PauseTrading, ResumeTrading } from '../operations.ts';
import { ask } from '../operators.ts';
import { useAnswer } from '../use-answer.ts';
import { askForAct, type Changes } from './act-dialog.tsx';
import { Panel, Trouble } from './listing.tsx';

const EVERY_MS = 3_000;

function askToSwitch(isPaused: boolean): void {
  const word = isPaused ? 'RESUME' : 'PAUSE';
  const next = isPaused ? 'accepted' : 'refused';
  const changesFrom = (paused: boolean): Changes => [['new orders', paused ? 'refused' : 'accepted', next]];
  askForAct<PauseTrading | ResumeTrading>({
    operation: isPaused ? 'resumeTrading' : 'pauseTrading',
    given: {},
    title: isPaused ? 'Resume all trading' : 'Pause all trading',
    changes: changesFrom(isPaused),
    again: async () => changesFrom((await ask<GetStatus>('getServiceStatus', {})).engine?.paused ?? isPaused),
    word,
    done: `New orders are ${next} on all markets.`,
  });
}

export function KillSwitch() {
  const { answer, trouble } = useAnswer<GetStatus>('getServiceStatus', {}, EVERY_MS);
  const engine = answer?.engine;
  return (
    <Panel title="Kill switch">
      <Trouble text={trouble} />
      <p>It refuses new orders on all markets. Cancels, deposits and withdrawals continue.</p>
      {engine === null && <p class="note error">The engine does not answer.</p>}
      {engine && (
        <>
          <p class={`note ${engine.paused ? 'warn' : ''}`}>
            {engine.paused ? 'Trading is paused.' : 'Trading is on.'}
          </p>
          <button
            type="button"
            class={`button ${engine.paused ? 'primary' : 'sell'}`}
            onClick={() => askToSwitch(engine.paused)}
          >
            {engine.paused ? 'Resume trading …' : 'Pause trading …'}
          </button>
        </>
      )}
    </Panel>
  );
}
