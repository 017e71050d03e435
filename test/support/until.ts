import { setImmediate } from 'node:timers/promises'

/**
 * Lets work of this process and its sockets go on until something
 * holds; the test's own limit ends it.
 */
export async function until(holds: () => boolean | undefined): Promise<void> {
  while (holds() !== true) await setImmediate()
}
