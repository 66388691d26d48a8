/** Asks for confirmation before an action that cannot be undone. */

import { answerQuestion, question } from '../state/question.ts';
import { Dialog } from './dialog.tsx';

export function QuestionDialog() {
  const asked = question.value;
  return (
    <Dialog open={asked !== null} title={asked?.title ?? ''} onClose={() => answerQuestion(false)}>
      <p>{asked?.text}</p>
      <div class="dialog-actions">
        <button type="button" class="button" onClick={() => answerQuestion(false)}>
          No, go back
        </button>
        <button type="button" class="button danger" onClick={() => answerQuestion(true)}>
          {asked?.action}
        </button>
      </div>
    </Dialog>
  );
}
