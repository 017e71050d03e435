/** The ends of a command: a fault, or a signal. */

import { Fault } from '#src/platform/fault.ts'

/** A fault that ends a command with one line on standard error and exit code 1. */
export const commandError = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'command', ...options })

/** The fault of a wrong call, with exit code 2. */
export const usageError = (message: string): Fault => new Fault(message, { kind: 'usage' })

/** A signal that SIGTERM and SIGINT abort until it is disposed of. */
export function stopSignal({
  onStop,
}: {
  onStop(stop: () => void): () => void
}): Disposable & { signal: AbortSignal } {
  const stop = new AbortController()
  return { signal: stop.signal, [Symbol.dispose]: onStop(() => stop.abort()) }
}
