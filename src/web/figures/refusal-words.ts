/** The API's refusals as the page words them: for a reader who sees a form, and no field of JSON. */

const OWN_WORDS: Readonly<Record<string, string>> = {
  MARKET_NOT_TRADING: 'the market takes no orders now',
  INSUFFICIENT_BALANCE: 'what is available does not cover the order and its fee',
  ORDER_BELOW_MIN_SIZE: 'the order is below the smallest size or value that this market takes',
  STALE_TERMS_VERSION: 'accept the current terms first',
};

/** Names of the API that its messages mention, and words for them. */
const NAMES: readonly (readonly [name: RegExp, words: string])[] = [
  [/\b(?:price|size)Increment, /g, ''],
  [/\bclientOrderId\b/g, 'the client order id'],
  [/\bquoteAmount\b/g, 'the amount'],
  [/\btimeInForce\b/g, 'the time in force'],
  [/\bpostOnly\b/g, 'post-only'],
  [/\b(?:min|max)OrderSize\b/g, 'the limit of this market'],
  [/\btickSize\b/g, 'the tick'],
  [/\bsizeStep\b/g, 'the step'],
];

/** @param message the API's own words */
export const refusalWords = (code: string, message: string): string =>
  OWN_WORDS[code] ?? NAMES.reduce((text, [name, words]) => text.replace(name, words), message);
