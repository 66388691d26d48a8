/** Light or dark: as the system says until the reader chooses, and then for good in this browser. */

import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'redbook:theme';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

/** Storage is refused in some private windows; the choice then lasts as long as the page. */
function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(stored());

/** Writes the theme on the root element, where the style sheet reads it, now and after each choice. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // The choice lasts as long as the page.
  }
}
