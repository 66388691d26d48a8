/** Proves that each broken build can be made from the present sources. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../support/program.ts';
import { BROKEN_BUILDS } from './broken-builds.ts';
import { changed } from './release.ts';

describe('the broken builds of the campaign', () => {
  for (const { name, changes } of BROKEN_BUILDS)
    it(`can be made: ${name}`, () => {
      const sources = new Map<string, string>();
      for (const change of changes) {
        const source = sources.get(change.file) ?? readFileSync(join(ROOT, change.file), 'utf8');
        sources.set(change.file, changed(source, change));
      }
      expect(sources.size).to.be.above(0);
    });
});
