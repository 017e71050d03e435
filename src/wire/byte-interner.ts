import { startsWith } from './json-bytes.ts'

/** A value and the bytes that it was read from. */
export type Interned<Value> = { readonly bytes: Uint8Array; readonly value: Value }

/** Remembers the values read last by their bytes. */
export type ByteInterner<Value> = {
  /** Finds the remembered value whose bytes stand at `at`, all of them. */
  find(bytes: Uint8Array, at: number): Interned<Value> | undefined
  /** Remembers a value, forgetting the oldest when full. The bytes are copied. */
  add(bytes: Uint8Array, value: Value): void
}

/**
 * Keeps the last few values of a field that repeats from line to line: one comparison of bytes then
 * replaces checking the text and making yet another equal string.
 */
export function createByteInterner<Value>(slotsMax: number): ByteInterner<Value> {
  const slots: Interned<Value>[] = []
  let hit = 0
  let oldest = 0

  return {
    find(bytes, at) {
      const recent = slots[hit]
      if (recent !== undefined && startsWith(bytes, at, recent.bytes)) return recent
      for (let index = 0; index < slots.length; index++) {
        const slot = slots[index]
        if (slot === undefined || !startsWith(bytes, at, slot.bytes)) continue
        hit = index
        return slot
      }
      return undefined
    },

    add(bytes, value) {
      hit = oldest
      slots[oldest] = { bytes: bytes.slice(), value }
      oldest = (oldest + 1) % slotsMax
    },
  }
}
