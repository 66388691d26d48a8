/** `redbook demo`: a story against the running service, for a newcomer to watch. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { runDemo } from '../demo/index.ts';
import { findEmbedded, type ServiceAddress } from '../embedded/index.ts';
import { openOperatorServices } from './operator.ts';

/** A service that was started a moment ago is waited for. */
const STARTING_MS = 10_000;
const LOOK_EVERY_MS = 200;

/** @returns the exit status: 0 when the story ended well and the books agree */
export async function tellDemo(config: Config, print: (line: string) => void): Promise<number> {
  const services = await openOperatorServices(config);
  try {
    const { url, webHost } = await locateService(config);
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

/** The service that runs on the data folder, whatever its port; without one, what the settings say. */
async function locateService(config: Config): Promise<ServiceAddress> {
  const configured = {
    url: `http://localhost:${config.port}`,
    webHost: config.webHosts[0] ?? `localhost:${config.port}`,
  };
  for (const untilMs = Date.now() + STARTING_MS; Date.now() < untilMs; await sleep(LOOK_EVERY_MS)) {
    const running = findEmbedded(config.dataDir);
    if (running === undefined || !isOn(config, running)) return configured;
    if (running.service !== undefined) return running.service;
  }
  return configured;
}

/** Settings that name servers mean these, and not those of a service that happens to run on the folder. */
const isOn = (config: Config, running: { redisUrl: string; databaseUrl: string }): boolean =>
  (config.redisUrl === undefined || config.redisUrl === running.redisUrl) &&
  (config.databaseUrl === undefined || config.databaseUrl === running.databaseUrl);
