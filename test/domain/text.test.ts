/** Tests the texts that every store can hold, counted in code points. */

import { expect } from 'chai';
import { hasCharacters, isValidText } from '../../src/domain/text.ts';

describe('domain: text', () => {
  it('is valid without U+0000 and unpaired surrogates', () => {
    for (const text of ['', 'a', 'é\n\u{1f600}', '\u0001', '\uffff'])
      expect(isValidText(text), text).to.equal(true);
    for (const text of ['\0', 'a\0b', '\ud83d', '\ude00a', 'a\ud83d'])
      expect(isValidText(text)).to.equal(false);
  });

  it('has between one character and the maximum, counted in code points', () => {
    expect(hasCharacters('', 2)).to.equal(false);
    expect(hasCharacters('\u{1f600}\u{1f600}', 2)).to.equal(true);
    for (const text of ['abc', 'a\u{1f600}b', 'abcde']) expect(hasCharacters(text, 2), text).to.equal(false);
    expect(hasCharacters('a\u{1f600}', 2)).to.equal(true);
  });
});
