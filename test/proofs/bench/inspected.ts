/** Evaluates code in a Node process that was started with an inspector. */

import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Environment of a process whose inspector listens on the port. */
export const inspectedOn = (port: number): Record<string, string> => ({
  NODE_OPTIONS: `--inspect=127.0.0.1:${port} --inspect-publish-uid=http`,
});

export interface Inspected {
  collectGarbage(): Promise<void>;
  /** @returns the value of the expression, a number */
  evaluate(expression: string): Promise<number>;
  close(): void;
}

interface Message {
  readonly id: number;
  readonly result: { readonly result: { readonly value: number }; readonly exceptionDetails?: object };
}

export async function inspect(port: number): Promise<Inspected> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  let asked = 0;
  const ask = async (method: string, params: object = {}): Promise<Message> => {
    asked += 1;
    socket.send(JSON.stringify({ id: asked, method, params }));
    const [data] = (await once(socket, 'message')) as [Buffer];
    return JSON.parse(data.toString());
  };
  return {
    collectGarbage: async () => void (await ask('HeapProfiler.collectGarbage')),
    async evaluate(expression) {
      const { result } = await ask('Runtime.evaluate', { expression });
      if (result.exceptionDetails !== undefined) throw new Error(JSON.stringify(result.exceptionDetails));
      return result.result.value;
    },
    close: () => socket.terminate(),
  };
}
