/** Runs `redbook demo` against the running service: a scripted story, or endless trading for a newcomer to watch. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { DEMO_HELP, drawSeed, readDemoArguments } from '../demo/arguments.ts';
import { runDemo } from '../demo/index.ts';
import { runLive } from '../demo/live.ts';
import type { ServiceAddress } from '../embedded/index.ts';
import { openOperatorServices } from './operator.ts';
import { loadEmbedded } from './own-servers.ts';
import { onStopSignal } from './stop-signal.ts';

/** Timeout of the wait for a service that was just started. */
const STARTING_MS = 10_000;
const LOOK_EVERY_MS = 200;

/**
 * @param argv arguments after `demo` on the command line
 * @returns the exit status: 0 if the demo succeeded and the books agree, 2 if the arguments are invalid
 */
export async function tellDemo(
  config: Config,
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const asked = readDemoArguments(argv);
  if (typeof asked === 'string') {
    print(`${asked}.\n\n${DEMO_HELP}`);
    return 2;
  }
  if (asked.help) {
    print(DEMO_HELP);
    return 0;
  }
  const services = await openOperatorServices(config);
  try {
    const { url, webHost } = await locateService(config);
    if (asked.live) {
      const { market, seed = drawSeed() } = asked;
      return await runLive({ baseUrl: url, services, print, market, seed, signal: untilToldToStop() });
    }
    return await runDemo({
      baseUrl: url,
      webHost,
      services,
      print,
      colours: process.stdout.isTTY === true && process.stdout.hasColors(),
    });
  } finally {
    await services.close();
  }
}

/** Returns a signal that is aborted by Ctrl-C or SIGTERM. A second signal exits the process at once. */
function untilToldToStop(): AbortSignal {
  const controller = new AbortController();
  onStopSignal(() => controller.abort());
  return controller.signal;
}

/**
 * Returns the address of the service that runs on the data folder, on any port. If none runs there, uses the settings.
 */
async function locateService(config: Config): Promise<ServiceAddress> {
  const configured = {
    url: `http://localhost:${config.port}`,
    webHost: config.webHosts[0] ?? `localhost:${config.port}`,
  };
  const embedded = await loadEmbedded();
  for (const untilMs = Date.now() + STARTING_MS; Date.now() < untilMs; await sleep(LOOK_EVERY_MS)) {
    const running = embedded?.findEmbedded(config.dataDir);
    if (running === undefined || !isOn(config, running)) return configured;
    if (running.service !== undefined) return running.service;
  }
  return configured;
}

/** True unless the settings name other servers than the service that runs on the data folder. */
const isOn = (config: Config, running: { redisUrl: string; databaseUrl: string }): boolean =>
  (config.redisUrl === undefined || config.redisUrl === running.redisUrl) &&
  (config.databaseUrl === undefined || config.databaseUrl === running.databaseUrl);
