/** A cutting proxy in a thread of its own, for a test that stands still behind it. */
import { workerData } from 'node:worker_threads'

import { answerFor, type Line, openBlocking } from '#src/platform/blocking.ts'

import { startCuttingProxy } from './cutting-proxy.ts'

const ANSWER_MS_MAX = 10_000
type Start = { proxyTo: number; line: Line }
type Order =
  { cut: true } | { freeze: true } | { delayMs: number } | { leadTo: number } | { none: true }

export function openProxy(port: number) {
  const thread = openBlocking<string>(import.meta.filename, { proxyTo: port })
  const order = (what: Order): string => {
    const origin = thread.ask(what, ANSWER_MS_MAX)
    if (origin === undefined) throw new Error('The proxy does not answer.')
    return origin
  }
  return {
    port: Number(new URL(order({ none: true })).port),
    cut: () => order({ cut: true }),
    freeze: () => order({ freeze: true }),
    delay: (delayMs: number) => order({ delayMs }),
    /** Cuts what there is, and leads to another port from now on. */
    leadTo: (port: number) => order({ leadTo: port }),
    stop: thread.close,
  }
}

async function serve({ proxyTo, line }: Start): Promise<void> {
  let target = proxyTo
  const proxy = await startCuttingProxy(() => target)
  answerFor(line, async (message) => {
    const order = message as Order
    if ('leadTo' in order) target = order.leadTo
    if ('cut' in order || 'leadTo' in order) proxy.cut()
    if ('freeze' in order) proxy.freeze()
    if ('delayMs' in order) proxy.delay(order.delayMs)
    return proxy.origin
  })
}

if ((workerData as Start | null)?.proxyTo !== undefined) void serve(workerData as Start)
