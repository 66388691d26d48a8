/** A worker process of the simulation: runs the tasks that its parent sends, and ends when the parent lets go of it. */

import { mochaGlobalSetup, mochaGlobalTeardown, stopServers } from '../../support/servers.ts';
import { type Task, TaskRunner } from './tasks.ts';

mochaGlobalSetup();
const runner = new TaskRunner();

process.on('message', async (task: Task) => {
  process.send!(await runner.run(task));
});
process.once('disconnect', async () => {
  await runner.close();
  await stopServers();
  await mochaGlobalTeardown();
  process.exit();
});
