/** Loads the embedded servers when they are needed. Images leave them out, because their roles are given servers. */

type Embedded = typeof import('../embedded/index.ts');

/** @returns undefined in an installation without `src/embedded` */
export async function loadEmbedded(): Promise<Embedded | undefined> {
  try {
    return await import('../embedded/index.ts');
  } catch (error) {
    if (!isMissing(error)) throw error;
    return undefined;
  }
}

/** A package that is missing is another trouble, which keeps its own message. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  /embedded.index\.[jt]s'/.test(error.message);
