/**
 * Classes of requests and responses that are created with the prototypes of the Express application. Express calls
 * `Object.setPrototypeOf` on each of them. V8 runs slow code for every object whose prototype was changed, but setting
 * the prototype that an object already has costs nothing.
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** A response that writes header lines unchanged. Node would validate each name and value by two regular expressions. */
interface ResponseWithLines {
  /** Header lines with their ends: those of Node's own concern (length, connection, encoding, date) must not be here. */
  headLines: string;
}

export const takesLines = (response: object): response is ResponseWithLines => 'headLines' in response;

/** Classes that one server and the application that answers its requests share. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/** The part of Node that makes a head of its first line and the headers. It is there in every release that we run on. */
type StoresHeader = new (
  ...args: ConstructorParameters<typeof ServerResponse>
) => ServerResponse & { _storeHeader(firstLine: string, headers: unknown): void };

function responseWithLines(): typeof ServerResponse {
  if (!('_storeHeader' in ServerResponse.prototype))
    return class<Request extends IncomingMessage> extends ServerResponse<Request> {};
  class Response extends (ServerResponse as unknown as StoresHeader) implements ResponseWithLines {
    declare headLines: string;

    override _storeHeader(firstLine: string, headers: unknown): void {
      super._storeHeader(firstLine + this.headLines, headers);
    }
  }
  // On the prototype, which Express also gives to responses that were not made here.
  Response.prototype.headLines = '';
  return Response as unknown as typeof ServerResponse;
}

export function createMessageClasses(): MessageClasses {
  return { IncomingMessage: class extends IncomingMessage {}, ServerResponse: responseWithLines() };
}

/** Makes the classes those of the application. An application that had them before goes on with this one's settings. */
export function useMessageClasses(app: Express, classes: MessageClasses): void {
  const [request, response] = [classes.IncomingMessage.prototype, classes.ServerResponse.prototype];
  Object.setPrototypeOf(request, app.request);
  Object.setPrototypeOf(response, app.response);
  Object.assign(app, { request, response });
}
