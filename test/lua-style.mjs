/**
 * `node test/lua-style.mjs [--write]`: holds the scripts of `lua/` against the format of StyLua, and with `--write` brings
 * them into it. Exits with 1 if a script is written otherwise.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CollapseSimpleStatement,
  Config,
  formatCode,
  IndentType,
  LuaVersion,
  OutputVerification,
  QuoteStyle,
} from '@johnnymorganz/stylua';

const LUA = fileURLToPath(new URL('../lua', import.meta.url));
const WRITES = process.argv.includes('--write');

/** @returns {Config} a new one each time, because a call of the formatter takes it away */
function style() {
  const config = Config.new();
  config.syntax = LuaVersion.Lua51;
  config.column_width = 120;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = QuoteStyle.AutoPreferSingle;
  config.collapse_simple_statement = CollapseSimpleStatement.Always;
  return config;
}

const files = readdirSync(LUA, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.lua'));
for (const file of files) {
  const path = join(LUA, file);
  const text = readFileSync(path, 'utf8');
  const formatted = formatCode(text, style(), undefined, OutputVerification.Full);
  if (formatted === text) continue;
  if (WRITES) writeFileSync(path, formatted);
  else {
    console.error(`lua/${file} is not formatted: npm run format`);
    process.exitCode = 1;
  }
}
