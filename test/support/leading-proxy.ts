/**
 * Leads to whichever server is the primary now, as a proxy or a virtual address does: in a thread
 * of its own, because others wait for it while a test stands still.
 */
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

import { startCuttingProxy } from './cutting-proxy.ts'

type Order = { leadTo: number }

/** Leads to a port until `leadTo` names another, which cuts what there is. */
export async function startLeadingProxy(port: number) {
  const thread = new Worker(new URL(import.meta.url))
  const started = Promise.withResolvers<number>()
  thread.once('message', started.resolve)
  thread.once('error', started.reject)
  const leadTo = (next: number): void => thread.postMessage({ leadTo: next } satisfies Order)
  leadTo(port)
  return {
    port: await started.promise,
    leadTo,
    [Symbol.asyncDispose]: async (): Promise<void> => void (await thread.terminate()),
  }
}

async function serve(): Promise<void> {
  let target = 0
  const proxy = await startCuttingProxy(() => target)
  parentPort?.on('message', ({ leadTo }: Order) => {
    target = leadTo
    proxy.cut()
  })
  parentPort?.postMessage(Number(new URL(proxy.origin).port))
}

if (!isMainThread) void serve()
