/**
 * The ways of one process to its servers, in a process of their own: stopped by a signal, they are a network that
 * takes everything and passes on nothing. The parent names the targets in the arguments, as `name=url`, and commands
 * over the channel between the two.
 */

import { type Lameness, type Link, openLink, type Trap } from '../../support/link.ts';
import type { ProxyCommand } from './proxies.ts';

const links = new Map<string, Link>();
const urls: Record<string, string> = {};
for (const argument of process.argv.slice(2)) {
  const [name, target] = argument.split(/=(.*)/s) as [string, string];
  const link = await openLink(target);
  links.set(name, link);
  urls[name] = link.url;
}
process.on('message', async ({ id, name, action, how }: ProxyCommand) => {
  for (const [at, link] of links) {
    if (name !== undefined && name !== at) continue;
    if (action === 'limp') link.limp(how as Lameness);
    else if (action === 'trap') await link.trap(how as Trap);
    else await link[action]();
  }
  process.send!({ id });
});
process.on('disconnect', () => process.exit());
process.send!({ urls });
