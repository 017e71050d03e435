/** Whether the server can be reached. While it cannot, the style sheet shows nothing as live. */

import { nowMs } from './clock.ts'
import { createStore } from './store.ts'

/** Since when no answer came, by the clock of this device; undefined while there are answers. */
export const lostStore = createStore<number | undefined>(undefined)

function set(sinceMs: number | undefined): void {
  if (lostStore.get() === sinceMs) return
  document.documentElement.toggleAttribute('data-offline', sinceMs !== undefined)
  lostStore.set(sinceMs)
}

export const noteAnswer = (): void => set(undefined)
export const noteLost = (): void => set(lostStore.get() ?? nowMs())

addEventListener('offline', noteLost)
