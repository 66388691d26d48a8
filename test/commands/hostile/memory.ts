/** Measures a process from inside by Node's inspector: heap after garbage collection, and open handles. */

import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { WebSocket } from 'ws';

export interface Memory {
  /** Used heap and memory outside it that objects hold, after garbage collection, in MiB. */
  readonly heldMib: number;
  readonly rssMib: number;
  /** Open sockets of clients and servers, timers excluded. */
  readonly sockets: number;
  /** Open files; undefined where the system does not tell. */
  readonly files: number | undefined;
  readonly pid: number;
}

const MIB = 1_048_576;
const READ = `JSON.stringify({
  ...process.memoryUsage(),
  pid: process.pid,
  sockets: process.getActiveResourcesInfo().filter((name) => /TCP/.test(name)).length,
})`;

/** @throws Error if the process is gone */
export async function measure(inspectorPort: number): Promise<Memory> {
  const [target] = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).json()) as [
    { webSocketDebuggerUrl: string },
  ];
  const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false });
  await once(socket, 'open');
  let id = 0;
  const call = async (method: string, params: object = {}): Promise<{ result?: { value?: string } }> => {
    id += 1;
    socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [data] = await once(socket, 'message');
      const message = JSON.parse(String(data));
      if (message.id === id) return message.result;
    }
  };
  // Finalizers of the first collection free what the second collects.
  for (let times = 0; times < 3; times += 1) await call('HeapProfiler.collectGarbage');
  const { result } = await call('Runtime.evaluate', { expression: READ, returnByValue: true });
  const { heapUsed, external, rss, pid, sockets } = JSON.parse(result!.value!);
  socket.close();
  return { heldMib: (heapUsed + external) / MIB, rssMib: rss / MIB, sockets, pid, files: openFiles(pid) };
}

function openFiles(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}
