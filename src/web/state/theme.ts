/** Light or dark theme: follows the system until the reader chooses; the choice is kept in this browser. */

import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { kept } from './kept-choice.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

export const theme: Signal<Theme> = kept('theme', THEMES, 'system');

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(systemDark.matches);

const systemColours = matchMedia('(forced-colors: active)');
const areForced = signal(systemColours.matches);

/** The theme that is drawn; `forced` where the system chooses all colours. */
export const drawnTheme: ReadonlySignal<'light' | 'dark' | 'forced'> = computed(() => {
  if (areForced.value) return 'forced';
  return theme.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : theme.value;
});

/** Writes the theme on the root element, where the style sheet reads it, now and after each choice. */
export function applyTheme(): void {
  systemDark.addEventListener('change', ({ matches }) => {
    systemIsDark.value = matches;
  });
  systemColours.addEventListener('change', ({ matches }) => {
    areForced.value = matches;
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
