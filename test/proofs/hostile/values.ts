/** Draws values that the schemas of the API document allow. */

import type { Node } from '../../support/contract.ts';
import type { Random } from '../../support/seed.ts';
import { formsOf } from './operations.ts';
import type { SignedIn, World } from './world.ts';

interface Drawing {
  readonly world: World;
  readonly wallet: SignedIn;
  readonly dice: Random;
}

const OPTIONAL_SHARE = 0.4;
const MAX_ITEMS = 3;
const MAX_SPREAD = 1_000;

/** Returns the name of an item of a list, such as `orderId` for `orderIds`. */
export const itemName = (name: string): string => name.replace(/s$/, '');

/** Returns a value of the name that the world knows, or one that the schema allows. */
export function drawValue(name: string, schema: Node, drawing: Drawing): unknown {
  const { world, wallet, dice } = drawing;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return dice.pick(schema.enum as unknown[]);
  const known = world.valueOf(name, wallet, dice);
  if (known !== undefined) return known;
  const forms = formsOf(schema).filter(({ type }) => type !== 'null');
  if (forms.length > 0) return drawValue(name, dice.pick(forms), drawing);
  if (schema.examples !== undefined) return dice.pick(schema.examples as unknown[]);
  if (schema.properties !== undefined) return drawObject(schema, drawing);
  const type = typeOf(schema);
  if (type === 'array') return drawList(name, schema, drawing);
  if (type === 'boolean') return dice.chance(0.5);
  const { minimum = 0, maximum = minimum + MAX_SPREAD } = schema;
  return type === 'string' ? 'a' : minimum + dice.below(Math.min(maximum - minimum, MAX_SPREAD) + 1);
}

/** Returns the type of a schema, which may allow null beside it. */
const typeOf = ({ type }: Node): string | undefined =>
  Array.isArray(type) ? type.find((one: string) => one !== 'null') : type;

function drawList(name: string, { items, maxItems = MAX_ITEMS }: Node, drawing: Drawing): unknown[] {
  const length = 1 + drawing.dice.below(Math.min(maxItems, MAX_ITEMS));
  return Array.from({ length }, () => drawValue(itemName(name), items, drawing));
}

/** Returns an object in one of the forms of the schema, with the required members and some of the others. */
export function drawObject(schema: Node, drawing: Drawing): Record<string, unknown> {
  const { dice } = drawing;
  const forms = formsOf(schema);
  if (forms.length > 0) return drawObject(dice.pick(forms), drawing);
  const { properties = {}, required = [] } = schema;
  const drawn = Object.entries<Node>(properties)
    .filter(([name]) => required.includes(name) || dice.chance(OPTIONAL_SHARE))
    .map(([name, member]) => [name, drawValue(name, member, drawing)]);
  return Object.fromEntries(drawn);
}
