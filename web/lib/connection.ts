/**
 * State of the connection. While the server cannot be reached, the style sheet shows nothing as
 * live.
 */

import { nowMs } from './clock.ts'
import { createStore } from './store.ts'

/**
 * Time since when the server has not answered, by the clock of this device; undefined while it
 * answers.
 */
export const lostStore = createStore<number | undefined>(undefined)

function set(sinceMs: number | undefined): void {
  if (lostStore.get() === sinceMs) return
  document.documentElement.toggleAttribute('data-offline', sinceMs !== undefined)
  lostStore.set(sinceMs)
}

export const noteAnswer = (): void => set(undefined)
export const noteLost = (): void => set(lostStore.get() ?? nowMs())

addEventListener('offline', noteLost)
