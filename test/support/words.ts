/** Returns the words of a text, in order. */
export const words = <Word extends string = string>(text: string): Word[] =>
  text.trim().split(/\s+/) as Word[];
