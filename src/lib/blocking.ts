/**
 * A thread that is asked by somebody who stands still until the answer is there: what waits by
 * itself (connections, requests) answers in its own thread meanwhile.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'

type Asked = { id: number; message: unknown }
type Answered = { id: number; answer: unknown }
/** What the thread gets with its own data, and hands to `answerFor`. */
export type Line = { port: MessagePort; state: Int32Array }

/** Starts `program` as a thread with `data`. */
export function openBlocking<Answer>(program: string, data: object) {
  const state = new Int32Array(new SharedArrayBuffer(4))
  const { port1: port, port2 } = new MessageChannel()
  const workerData = { ...data, line: { port: port2, state } satisfies Line }
  const worker = new Worker(program, { workerData, transferList: [port2] })
  worker.unref()
  port.unref()
  worker.on('error', () => {})
  let asked = 0

  return {
    /** Waits for the answer for at most so many milliseconds; undefined where there was none. */
    ask(message: unknown, msMax: number): Answer | undefined {
      port.postMessage({ id: ++asked, message } satisfies Asked)
      const endMs = performance.now() + msMax
      for (;;) {
        const seen = Atomics.load(state, 0)
        const found: Answered | undefined = receiveMessageOnPort(port)?.message
        // One that came too late is of an earlier question.
        if (found?.id === asked) return found.answer as Answer
        if (found !== undefined) continue
        const leftMs = endMs - performance.now()
        if (leftMs <= 0 || Atomics.wait(state, 0, seen, leftMs) === 'timed-out') return undefined
      }
    },

    /** Waits for nothing. */
    tell: (message: unknown): void => port.postMessage({ id: ++asked, message } satisfies Asked),

    close(): void {
      port.close()
      void worker.terminate()
    },
  }
}

/** To be called in the thread; `answer` must not reject. */
export function answerFor({ port, state }: Line, answer: (message: unknown) => Promise<unknown>) {
  port.on('message', async ({ id, message }: Asked) => {
    port.postMessage({ id, answer: await answer(message) } satisfies Answered)
    Atomics.add(state, 0, 1)
    Atomics.notify(state, 0)
  })
}
