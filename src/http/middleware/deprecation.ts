/** Tells callers of a deprecated path which path replaces it. */

import type { Request, Response } from 'express';
import { addHeader } from '../response/index.ts';

/** Characters that must be encoded in a path between the angle brackets of a Link header. */
const DELIMITERS = /[<>"\s]/g;

export const deprecation =
  (oldPrefix: string, newPrefix: string) =>
  (request: Request, response: Response): void => {
    const successor = `${newPrefix}${request.path.slice(oldPrefix.length)}`;
    addHeader(response, 'Deprecation', 'true');
    addHeader(
      response,
      'Link',
      `<${successor.replace(DELIMITERS, encodeURIComponent)}>; rel="successor-version"`,
    );
  };
