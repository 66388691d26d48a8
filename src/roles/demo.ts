/** `redbook demo`: a story against the running service, for a newcomer to watch. */

import type { Config } from '../config.ts';
import { runDemo } from '../demo/index.ts';
import { openOperatorServices } from './operator.ts';

/** @returns the exit status: 0 when the story ended well and the books agree */
export async function tellDemo(config: Config, print: (line: string) => void): Promise<number> {
  const services = await openOperatorServices(config);
  try {
    return await runDemo({
      baseUrl: `http://localhost:${config.port}`,
      webHost: config.webHosts[0] ?? `localhost:${config.port}`,
      services,
      print,
      colours: process.stdout.isTTY === true && process.stdout.hasColors(),
    });
  } finally {
    await services.close();
  }
}
