/** Serves the API documents and the page that shows them. */

import { jsonText, type Reply } from '../replies/reply.ts';
import type { OpenRoute } from '../route.ts';
import type { HttpSettings } from '../services.ts';
import { asyncApiDocument } from './asyncapi.ts';
import type { JsonObject } from './json-schema.ts';
import { openApiDocument } from './openapi.ts';
import { viewerRoutes } from './viewer.ts';

export { allowViewer, VIEWER_PATH } from './viewer.ts';

/** Public documents, served for `GET`. */
export const documentation = (
  settings: HttpSettings,
): (readonly [path: string, handle: OpenRoute['handle']])[] => [
  ['/v1/openapi.json', written(() => openApiDocument(settings))],
  ['/v1/asyncapi.json', written(() => asyncApiDocument(settings))],
  ...viewerRoutes(settings.serviceName),
];

/** Serves a document that is built at the first request and then kept. */
function written(make: () => JsonObject): OpenRoute['handle'] {
  let reply: Reply | undefined;
  return async () => {
    reply ??= { ...jsonText(JSON.stringify(make())), isPublic: true };
    return reply;
  };
}
