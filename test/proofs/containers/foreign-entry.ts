/** Adds an entry to the engine's stream by hand, and removes it by the runbook's commands as an operator types them. */

import { blockOf } from '../../support/guide.ts';
import type { Ended } from './engine.ts';
import { check, judged, loaded, reconciles } from './figures.ts';

/** Only the engine's own users may add: the operator's `admin` may not. */
const ADD = `const { Redis } = require('ioredis');
const redis = new Redis(fs.readFileSync(process.env.REDIS_URL_FILE, 'utf8').trim());
redis.xadd('{redbook}:events', '*', 'e', 'x').then(() => redis.quit())`;

export const FOREIGN_ENTRY = check(
  "an entry added to the engine's stream",
  'by hand; removed by the runbook, line by line',
  async (cluster) => {
    const { engine, checkout } = cluster;
    const block = blockOf(checkout.read('docs/runbook.md'), '## When somebody added an entry', 'sh');
    const [status, empty, setLast] = block.trim().split('\n') as [string, string, string];
    const typed = (line: string): Promise<Ended> => engine.script(line, checkout.folder);
    const added = await engine.compose('exec', '-T', 'api', 'node', '-e', ADD);
    const during = await cluster.underLoad(async () => undefined);

    const told = await typed(status);
    const [, epoch, sequence] = /epoch (\d+) event (\d+)/.exec(told.stdout.replaceAll(',', '')) ?? [];
    const emptied = [await typed(empty), await typed(setLast.replace('E-S', `${epoch}-${sequence}`))];

    const after = await cluster.underLoad(async () => undefined);
    return judged(
      `${during.placed} orders before its removal; then ${loaded(after)}`,
      {
        'orders are refused for it':
          during.placed === 0 && /cannot record/.test(Object.keys(during.failures).join()),
        'Redis takes back the last id': emptied[1]!.stdout.trim() === 'OK',
        'the cluster trades': after.placed > 0 && after.failed === 0,
        'the books hold': await reconciles(cluster),
      },
      added,
      told,
      ...emptied,
    );
  },
);
