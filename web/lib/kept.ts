/** Settings that this browser keeps between visits. None is secret. */

import { createStore } from './store.ts'

/**
 * A value under a name of local storage, which other tabs of the browser have, too; `read`
 * validates the stored JSON.
 */
export function createKept<T>(name: string, read: (stored: unknown) => T) {
  const store = createStore<T>(read(parse(name)))
  window.addEventListener('storage', ({ key }) => {
    if (key === name) store.set(read(parse(name)))
  })
  return {
    store,
    set(value: T): void {
      try {
        localStorage.setItem(name, JSON.stringify(value))
      } catch {
        // Without storage, the value is kept as long as the page is open.
      }
      store.set(value)
    },
  }
}

function parse(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null')
  } catch {
    return null
  }
}
