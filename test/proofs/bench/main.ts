/** `npm run bench`: measures this release and an older one, and compares each figure with its target. */

import { bench } from './command.ts';

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

process.exitCode = await bench(process.argv.slice(2), process.stdout, process.stderr);
