/**
 * Writes replies. Express routes requests; this folder replaces its `response.set` and `response.send`, because every
 * reply pays for them:
 * - Express changes the prototype of each request and response, which costs 334,000 of the 601,000 instructions of its
 *   hello world. `message-classes.ts` creates both with the prototypes that Express wants.
 * - Node's `setHeader` validates and stores each header twice. `head.ts` collects the lines of a reply in one list.
 * - Express' `send` works out a charset, an entity tag and freshness. Only public replies have a tag and freshness here.
 */

export { addHeader, hasHeader, linesOf, replaceHeader, writeHead } from './head.ts';
export {
  createMessageClasses,
  type MessageClasses,
  tellsOfBody,
  useMessageClasses,
} from './message-classes.ts';
export { send } from './send.ts';
export { type ChunkedReply, sendChunks } from './send-chunks.ts';
export { sendPublic } from './send-public.ts';
export {
  beginReply,
  type FixedHeaders,
  type ReplyState,
  type RequestClock,
  secondsOf,
  stateOf,
  waitOut,
} from './state.ts';
export { endReply, unreadReplies } from './unread-replies.ts';
