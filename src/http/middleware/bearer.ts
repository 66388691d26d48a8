/** Lets a request with a session through, and says whose it is. */

import type { RequestHandler } from 'express';
import type { Auth } from '../../auth/index.ts';

/** Leaves the wallet in `response.locals.wallet`. Only the header counts: a token in a URL ends up in logs. */
export const bearer =
  (auth: Auth): RequestHandler =>
  (request, response, next) => {
    response.locals.wallet = auth.session(request.headers.authorization).wallet;
    next();
  };
