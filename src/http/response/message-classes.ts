/**
 * Classes of requests and responses that have the prototypes of the Express application from the start. Express calls
 * `Object.setPrototypeOf` on each message. V8 runs slow code for every object whose prototype was changed, but setting
 * the prototype that an object already has costs nothing.
 *
 * The class of requests also keeps a connection from having two at once.
 */

import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';
import { takesTurn } from '../upgrade.ts';

/**
 * A response that writes header lines unchanged. Node would validate each name and value with two regular expressions:
 * an order then takes 6 to 9 % more of the process.
 */
interface ResponseWithLines {
  /**
   * Header lines with their line ends. Headers that Node handles (length, connection, encoding, date) must not be here.
   */
  headLines: string;
}

/**
 * A request that tells when its body stands still: all of it is there, no more of it is taken before it is read, or the
 * connection ended. Listeners to `data` and `end` take twice the time.
 */
export interface RequestWithBody extends IncomingMessage {
  /** Set by whoever waits; called once. */
  onBody: (() => void) | undefined;
}

/**
 * A request that a server may hand over to its listeners to `upgrade`: Node's parser stops behind its head. A request
 * whose turn has not come is handed over like one with an offer. Otherwise Node makes all requests of a packet with their
 * responses at once: 64 KB may have 3,600, which hold the event loop for 50 ms.
 */
interface RequestInTurn extends IncomingMessage {
  /** Set by Node: null at first, then true for an offer. */
  upgrade: boolean | null;
}

export const tellsOfBody = (request: IncomingMessage): request is RequestWithBody => 'onBody' in request;

function requestOfServer(): typeof IncomingMessage {
  class Request extends IncomingMessage implements RequestWithBody, RequestInTurn {
    declare onBody: (() => void) | undefined;
    declare isHandedOver: boolean | null;

    get upgrade(): boolean | null {
      return this.isHandedOver;
    }

    set upgrade(value: boolean | null) {
      const isJudged = this.isHandedOver !== null || value === null;
      this.isHandedOver = isJudged ? value : value || !takesTurn(this.socket);
    }

    override push(chunk: unknown, encoding?: BufferEncoding): boolean {
      const takesMore = super.push(chunk, encoding);
      if (!takesMore) tell(this);
      return takesMore;
    }

    override destroy(error?: Error): this {
      tell(this);
      return super.destroy(error);
    }
  }
  // Set on the prototype, for requests whose body nobody waits for.
  Request.prototype.onBody = undefined;
  Request.prototype.isHandedOver = null;
  return Request;
}

function tell(request: RequestWithBody): void {
  const { onBody } = request;
  if (onBody === undefined) return;
  request.onBody = undefined;
  onBody();
}

export const takesLines = (response: object): response is ResponseWithLines => 'headLines' in response;

/** Classes shared by one server and its application. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Node's internal method that builds a head from its first line and the headers. Every supported Node release has it.
 */
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
  // Set on the prototype, because Express also gives the prototype to responses that were not created here.
  Response.prototype.headLines = '';
  return Response as unknown as typeof ServerResponse;
}

export function createMessageClasses(): MessageClasses {
  return { IncomingMessage: requestOfServer(), ServerResponse: responseWithLines() };
}

/** Assigns the classes to the application. A previous application of these classes then uses the new one's settings. */
export function useMessageClasses(app: Express, classes: MessageClasses): void {
  const request = classes.IncomingMessage.prototype;
  const response = classes.ServerResponse.prototype;
  Object.setPrototypeOf(request, app.request);
  Object.setPrototypeOf(response, app.response);
  Object.assign(app, { request, response });
}
