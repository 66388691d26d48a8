/** Waits that end by a time limit. */

/**
 * Waits for an answer for a limited time. A call that is late goes on, and what becomes of it is ignored.
 * @param onLate gives the result that stands for the late answer, or throws
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
