/**
 * The tests of the page run in one process, because all of its files share one browser and one service.
 */

import { readFileSync } from 'node:fs';

export default {
  ...JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8')),
  timeout: 180_000,
};
