/** Acts of operators that are no other event of the engine. */

import type { Act } from '../domain/act.ts';
import type { OperatorActed } from '../domain/event.ts';
import type { EngineCore } from './core.ts';
import { actText } from './event-codec.ts';
import { NOTE_ACT } from './scripts.ts';

export class EngineActs {
  readonly #core: EngineCore;

  constructor(core: EngineCore) {
    this.#core = core;
  }

  /** Notes what an operator does outside of the engine: before a change that may break off, so that none is unseen. */
  async note(done: Omit<OperatorActed, 'kind'>, act: Act): Promise<void> {
    await this.#core.whileCurrent(() =>
      this.#core.scripts.run(NOTE_ACT, {
        epoch: this.#core.lifecycle.epoch,
        detail: JSON.stringify(done),
        act: actText(act),
      }),
    );
  }
}
