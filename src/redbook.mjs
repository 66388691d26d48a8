#!/usr/bin/env node
/**
 * The command `redbook`. A checkout runs its sources, so that a command never uses an older build of them. An
 * installation without sources, such as the image, runs the compiled service.
 */

import { existsSync } from 'node:fs';

const sources = new URL('main.ts', import.meta.url);

if (existsSync(sources)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(sources.href);
} else {
  process.setSourceMapsEnabled(true);
  await import(new URL('../dist/src/main.js', import.meta.url).href);
}
