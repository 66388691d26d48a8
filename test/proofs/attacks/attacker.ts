/** A process that plays one attack until it is told to stop, and tells what it found. */

import { spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { Ground } from './ground.ts';
import type { Play } from './play.ts';
import { attackOf } from './table.ts';

// An attacker has machines of its own. Here it takes the time of processors that nobody else wants. At the lowest
// priority alone, it keeps a processor for some milliseconds while another process becomes ready.
setPriority(constants.priority.PRIORITY_LOW);
spawnSync('chrt', ['--all-tasks', '--idle', '--pid', '0', `${process.pid}`]);

process.once('message', async ({ name, stage, scale }: Play) => {
  const attack = attackOf(name);
  const ground = new Ground(name, stage, scale);
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      await ground.stop();
      await attack.end?.(ground).catch((error) => ground.found(`the end failed: ${error}`));
      ground.close();
    })();
    return stopping;
  };
  // Servers get their settings back although the parent is gone.
  process.once('disconnect', () => void stop().finally(() => process.exit()));
  process.once('message', async () => {
    await stop();
    process.send!({ findings: ground.findings });
  });
  try {
    await attack.begin(ground);
    process.send!({ begun: true });
  } catch (error) {
    process.send!({ failure: error instanceof Error ? error.stack : String(error) });
  }
});
