/** Builds the application for operators: their routes, each behind a key with the right for it, the desk, the probes. */

import type { RequestListener } from 'node:http';
import type { RequestHandler } from 'express';
import { findKey } from '../../books/operator-keys.ts';
import { Refusal } from '../../domain/errors.ts';
import type { OperatorKey } from '../../domain/operator-rights.ts';
import { OPERATIONS } from '../../operator/nouns.ts';
import type { Operation } from '../../operator/operation.ts';
import { closeApp, enter, newApp, register } from '../app.ts';
import { unknownRoute } from '../middleware/errors.ts';
import { operatorDocument } from '../openapi/operators.ts';
import { deskRoutes } from '../page/index.ts';
import { jsonText, type Reply } from '../replies/reply.ts';
import { send, sendChunks, stateOf } from '../response/index.ts';
import { type OperatorServices, pathOf, perform } from './serve.ts';

export const OPERATOR_DOCUMENT_PATH = '/operator/v1/openapi.json';

/** Builds the application. It serves nothing of the public API. */
export function createOperatorApp(services: OperatorServices): RequestListener {
  const app = newApp();
  for (const operation of OPERATIONS) {
    const path = pathOf(operation);
    register(app, operation.method, path, enter(path), serve(operation, services));
  }
  let document: Reply | undefined;
  register(app, 'GET', OPERATOR_DOCUMENT_PATH, enter(OPERATOR_DOCUMENT_PATH), (_request, response) => {
    document ??= jsonText(JSON.stringify(operatorDocument(services)));
    send(response, document);
  });
  for (const { path, setHeaders, handle } of deskRoutes(services))
    register(app, 'GET', path, enter(path, setHeaders), handle);
  return closeApp(app, services, [unknownRoute]);
}

/** Looks the key up before it reads a body: nobody else may make this process work. */
function serve(operation: Operation, services: OperatorServices): RequestHandler {
  const { rights } = operation;
  return async (request, response) => {
    const key = await keyOf(services, request.headers.authorization);
    stateOf(response).holder = key.name;
    if (!rights.some((right) => key.rights.includes(right)))
      throw new Refusal('FORBIDDEN', `the key may not do this: it needs the right ${rights.join(' or ')}`);
    const reply = await perform(operation, services, key, request);
    if ('chunks' in reply) await sendChunks(response, key.name, reply);
    else send(response, reply);
  };
}

const BEARER = /^bearer +(\S+)$/i;

/** @throws Refusal UNAUTHORIZED */
async function keyOf(services: OperatorServices, authorization = ''): Promise<OperatorKey> {
  const [, sent] = BEARER.exec(authorization) ?? [];
  const key = sent === undefined ? undefined : await findKey(services, sent);
  if (key === undefined)
    throw new Refusal(
      'UNAUTHORIZED',
      'send a key as `Authorization: Bearer rbk_…`; this one is missing, unknown or revoked',
    );
  return key;
}
