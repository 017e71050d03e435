/** A value that parts of the page share. */

import { useLayoutEffect, useState } from 'preact/hooks'

export type Store<T> = {
  get(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      value = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** The value, and the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, update] = useState({})
  // An effect after the paint would miss a change before it.
  useLayoutEffect(() => store.subscribe(() => update({})), [store])
  return store.get()
}
