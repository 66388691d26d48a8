/** Calls the routes for operators with the key that this page was opened with. Nothing is kept outside of its memory. */

import { signal } from '@preact/signals';

/** Null until the operator has signed in. It ends with the page. */
export const key = signal<string | null>(null);

/** An answer that is an error. The message is a sentence. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Longest wait for an answer. */
const PATIENCE_MS = 15_000;

interface Ask {
  readonly body?: object;
  /** Another key than the one that is signed in. */
  readonly as?: string;
}

/**
 * Sends a request; one with a body is a POST.
 * @throws Refused; its status is 0 when no answer came, and then nobody knows if the request was carried out
 */
export async function ask<Answer>(path: string, { body, as = key.value ?? '' }: Ask = {}): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(`operator/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refused(0, 'No answer came. Look what became of it before you repeat it.');
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer as Answer;
  if (response.status === 401) key.value = null;
  throw new Refused(response.status, sentence(String(answer.error ?? `status ${response.status}`)));
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
