/** Rewrites the text of a page as the translation of a browser does, word for word, so that tests can still read it. */

import type { BrowserContext } from 'playwright-core';

/** Replaces each text node by an element that holds a copy, and again each one that comes later. */
function translate(): void {
  const replace = (text: Text): void => {
    const parent = text.parentElement;
    if (text.data.trim() === '' || parent === null || parent.closest('script, style, title, font')) return;
    const outer = document.createElement('font');
    const inner = document.createElement('font');
    inner.append(text.data);
    outer.append(inner);
    text.replaceWith(outer);
  };
  const replaceIn = (node: Node): void => {
    const texts: Text[] = [];
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let found: Node | null = node; found !== null; found = walker.nextNode())
      if (found instanceof Text) texts.push(found);
    for (const text of texts) replace(text);
  };
  const observer = new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) for (const node of [target, ...addedNodes]) replaceIn(node);
  });
  observer.observe(document, { childList: true, characterData: true, subtree: true });
  document.addEventListener('DOMContentLoaded', () => replaceIn(document.body));
}

/** Translates every page of a context from its first text on. */
export async function translated(context: BrowserContext): Promise<void> {
  await context.addInitScript(translate);
}
