/** Waits with a time limit. */

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
