/** Asks for confirmation before an action that cannot be undone. */

import { answerQuestion, question } from '../state/question.ts';
import { Dialog } from './dialog.tsx';

export function QuestionDialog() {
  const asked = question.value;
  return (
    <Dialog open={asked !== null} title={asked?.title ?? ''} onClose={() => answerQuestion('no', asked)}>
      <p translate={false}>{asked?.text}</p>
      <div class="dialog-actions" translate={false}>
        {asked?.other !== undefined && (
          <button type="button" class="button danger" onClick={() => answerQuestion('other', asked)}>
            {asked.other}
          </button>
        )}
        <button type="button" class="button" onClick={() => answerQuestion('no', asked)}>
          No, go back
        </button>
        <button
          type="button"
          class={asked?.isSafe === true ? 'button primary' : 'button danger'}
          onClick={() => answerQuestion('action', asked)}
        >
          {asked?.action}
        </button>
      </div>
    </Dialog>
  );
}
