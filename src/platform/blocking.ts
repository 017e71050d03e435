/**
 * A thread that is asked by somebody who stands still until the answer is there: what waits by
 * itself (connections, requests) answers in its own thread meanwhile.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'

type Asked = { id: number; message: unknown }
type Answered = { id: number; answer: unknown }
/** What the thread gets with its own data, and hands to `answerFor`. */
export type Line = { port: MessagePort; state: Int32Array }

/** Places of the state: how many answers there were, and whether the thread has ended. */
const [ANSWERS, ENDED] = [0, 1]

function startThread(program: string, data: object) {
  const state = new Int32Array(new SharedArrayBuffer(8))
  const { port1: port, port2 } = new MessageChannel()
  const workerData = { ...data, line: { port: port2, state } satisfies Line }
  const worker = new Worker(program, { workerData, transferList: [port2] })
  worker.unref()
  port.unref()
  // Why it ends is of no use to who asks: there is no answer.
  worker.on('error', () => {})
  worker.on('exit', () => Atomics.store(state, ENDED, 1))
  const stop = (): void => {
    port.close()
    void worker.terminate()
  }
  return { state, port, stop }
}

/** Starts `program` as a thread with `data`, and again where it has ended. */
export function openBlocking<Answer>(program: string, data: object) {
  let thread = startThread(program, data)
  let asked = 0

  function send(message: unknown): void {
    if (Atomics.load(thread.state, ENDED) === 1) {
      thread.stop()
      thread = startThread(program, data)
    }
    thread.port.postMessage({ id: ++asked, message } satisfies Asked)
  }

  return {
    /** Waits for the answer for at most so many milliseconds; undefined where there was none. */
    ask(message: unknown, msMax: number): Answer | undefined {
      send(message)
      const { state, port } = thread
      const endMs = performance.now() + msMax
      for (;;) {
        const seen = Atomics.load(state, ANSWERS)
        const hasEnded = Atomics.load(state, ENDED) === 1
        const found: Answered | undefined = receiveMessageOnPort(port)?.message
        // One that came too late is of an earlier question.
        if (found?.id === asked) return found.answer as Answer
        if (found !== undefined) continue
        const leftMs = endMs - performance.now()
        if (hasEnded || leftMs <= 0) return undefined
        if (Atomics.wait(state, ANSWERS, seen, leftMs) === 'timed-out') return undefined
      }
    },

    /** Waits for nothing. */
    tell: send,

    close: (): void => thread.stop(),
  }
}

/** To be called in the thread; `answer` must not reject. */
export function answerFor({ port, state }: Line, answer: (message: unknown) => Promise<unknown>) {
  const wake = (): void => {
    Atomics.add(state, ANSWERS, 1)
    Atomics.notify(state, ANSWERS)
  }
  // Whoever stands still hears of nothing else.
  process.on('exit', () => {
    Atomics.store(state, ENDED, 1)
    wake()
  })
  port.on('message', async ({ id, message }: Asked) => {
    port.postMessage({ id, answer: await answer(message) } satisfies Answered)
    wake()
  })
}
