/** Waits with a time limit. */

/** Time from the start of a request to its answer, so that clients get one within three seconds. */
export const ANSWER_WITHIN_MS = 2_700;

/**
 * Waits for an answer for a limited time. A late call continues, and its outcome is ignored.
 * @param onLate returns the result that replaces the late answer, or throws
 */
export async function withTimeLimit<Answer, Late>(
  limitMs: number,
  answer: Promise<Answer>,
  onLate: () => Late,
): Promise<Answer | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  try {
    return await Promise.race([answer, limit.then(onLate)]);
  } finally {
    clearTimeout(timer);
  }
}
