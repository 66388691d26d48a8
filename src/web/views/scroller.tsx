/** A part of a panel that scrolls by itself, with the mouse and with the keyboard. */

import type { ComponentChildren } from 'preact';

interface ScrollerProps {
  /** Name of the scrolled content, for screen readers. */
  readonly name: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Scroller({ name, class: className, children }: ScrollerProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot scroll in every browser
    <section class={`scroll ${className ?? ''}`} tabIndex={0} aria-label={name}>
      {children}
    </section>
  );
}
