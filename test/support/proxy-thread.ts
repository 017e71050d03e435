/** A cutting proxy in a separate thread, for a test that blocks its own. */

import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { startCuttingProxy } from './cutting-proxy.ts'

const ANSWER_MS_MAX = 120_000
type Order =
  | { cut: true }
  | { freeze: true }
  | { delayMs: number }
  | { lagMs: number }
  | { isRefusing: boolean }
  | { leadTo: number }
  | { none: true }

export function openProxy(port: number) {
  const thread = proxyWorker.startBlocking(port)
  const order = (what: Order): { origin: string; turns: number } => {
    const answer = thread.ask<{ origin: string; turns: number }>(what, ANSWER_MS_MAX)
    if (answer === undefined) throw new Error('The proxy does not answer.')
    return answer
  }
  return {
    port: Number(new URL(order({ none: true }).origin).port),
    turns: (): number => order({ none: true }).turns,
    cut: () => order({ cut: true }),
    freeze: () => order({ freeze: true }),
    delay: (delayMs: number) => order({ delayMs }),
    lag: (lagMs: number) => order({ lagMs }),
    refuse: (isRefusing: boolean) => order({ isRefusing }),
    /** Cuts existing connections, and leads to another port from now on. */
    leadTo: (port: number) => order({ leadTo: port }),
    stop: thread.close,
  }
}

async function serve(port: number, parent: Parent<never, Order>): Promise<never> {
  let target = port
  const proxy = await startCuttingProxy(() => target)
  return parent.receive((order) => {
    if ('leadTo' in order) target = order.leadTo
    if ('cut' in order || 'leadTo' in order) proxy.cut()
    if ('freeze' in order) proxy.freeze()
    if ('delayMs' in order) proxy.delay(order.delayMs)
    if ('lagMs' in order) proxy.lag(order.lagMs)
    if ('isRefusing' in order) proxy.refuse(order.isRefusing)
    return { origin: proxy.origin, turns: proxy.turns }
  })
}

const proxyWorker = defineWorker(
  { name: 'proxy', purpose: 'is a proxy', file: import.meta.filename },
  serve,
)
