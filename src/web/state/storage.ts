/**
 * Texts that the browser keeps: for this tab until it is closed, or for all tabs. Storage is refused in some private
 * windows; what is kept then lasts as long as the page.
 */

export type Keeper = 'tab' | 'browser';

const areaOf = (keeper: Keeper): Storage => (keeper === 'tab' ? sessionStorage : localStorage);

export function readStored(keeper: Keeper, key: string): string | null {
  try {
    return areaOf(keeper).getItem(key);
  } catch {
    return null;
  }
}

/** @param value null forgets the key */
export function store(keeper: Keeper, key: string, value: string | null): void {
  try {
    if (value === null) areaOf(keeper).removeItem(key);
    else areaOf(keeper).setItem(key, value);
  } catch {
    // The text lasts as long as the page.
  }
}
