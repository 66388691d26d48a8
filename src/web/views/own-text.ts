/**
 * Writes every text of the page through an element of its own.
 *
 * Translators and reader extensions replace text nodes by elements of theirs. A renderer that keeps text nodes then
 * writes into nodes that have left the document: the button still said "Buy" while it sold. Content that is set on the
 * element takes the place of whatever stands in it. Texts with figures or symbols ask not to be translated at all.
 */

import { type ComponentChildren, options, type VNode } from 'preact';

/** Returns children as one text; undefined when an element is among them. */
function textOf(children: ComponentChildren): string | undefined {
  if (children == null || typeof children === 'boolean') return '';
  if (Array.isArray(children)) {
    const texts = children.map(textOf);
    return texts.includes(undefined) ? undefined : texts.join('');
  }
  return typeof children === 'object' || typeof children === 'function' ? undefined : String(children);
}

/**
 * Joins texts that stand beside each other, which are one sentence, into the first of them. The other children keep their
 * places, by which the renderer knows them again.
 */
function joined(children: ComponentChildren): ComponentChildren {
  if (!Array.isArray(children)) return children;
  const all: ComponentChildren[] = [...children];
  let first = -1;
  for (const [at, child] of all.entries()) {
    const text = Array.isArray(child) ? undefined : textOf(child);
    if (text === undefined) first = -1;
    else if (first === -1) first = at;
    else {
      all[first] = (textOf(all[first]) ?? '') + text;
      all[at] = null;
    }
  }
  return all;
}

/** A vnode as it is made: text has no type, and stands in the place of its properties. */
interface MadeNode {
  type: unknown;
  props: unknown;
}

/** A figure, or a word of capitals: a symbol. */
const EXACT = /\d|\b[A-Z]{2,}\b/;

/** Returns properties that write a text. The property `translate` is a boolean, and `no` would mean yes. */
const writing = (textContent: string) => ({
  textContent,
  ...(EXACT.test(textContent) && { translate: false }),
});

function ownText(made: MadeNode): void {
  if (made.type === null) {
    const text = String(made.props);
    // An empty text is replaced by nobody, and an element would be a gap between its neighbours.
    if (text !== '') Object.assign(made, { type: 'span', props: writing(text) });
  } else if (typeof made.type === 'string') {
    const { children, ...props } = made.props as { readonly children?: ComponentChildren };
    const text = textOf(children);
    if (text === undefined) made.props = { ...props, children: joined(children) };
    else if (text !== '') made.props = { ...writing(text), ...props };
  }
}

/** Holds for all that is rendered after it. */
export function ownTexts(): void {
  const { vnode: next } = options;
  options.vnode = (vnode: VNode) => {
    ownText(vnode as unknown as MadeNode);
    next?.(vnode);
  };
}
