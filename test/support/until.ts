import { setImmediate } from 'node:timers/promises'

/**
 * Lets work of this process and its sockets run until a condition holds; the test's own limit ends
 * it.
 */
export async function until(holds: () => boolean | undefined | Promise<boolean>): Promise<void> {
  while ((await holds()) !== true) await setImmediate()
}
