/** The market of the sample, as all serving threads have chosen it together. */
import type { SampleChoice } from '#src/access/sample.ts'

import { makeSharedTable, openSharedTable } from './shared-table.ts'

/** A condition id is eight numbers of 32 bits. */
const WORDS = 8
const WORD_DIGITS = 8

export const makeChoiceMemory = (seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: 1, columns: WORDS, seed })

export function openSharedChoice(memory: SharedArrayBuffer): SampleChoice {
  const table = openSharedTable(memory)
  const { cells } = table
  const place = () => table.claim('sample', () => false)

  /** All zeros where nothing was chosen. */
  function read(at: number): string | undefined {
    const words = cells.subarray(at, at + WORDS)
    if (words.every((word) => word === 0)) return undefined
    return `0x${[...words].map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('')}`
  }

  return {
    read: () => table.use(() => read(place())),
    replace: (before, conditionId) =>
      table.use(() => {
        const at = place()
        const known = read(at)
        if (known !== undefined && known !== before) return known
        const digits = conditionId.slice('0x'.length).padStart(WORDS * WORD_DIGITS, '0')
        for (let word = 0; word < WORDS; word++) {
          const text = digits.slice(word * WORD_DIGITS, (word + 1) * WORD_DIGITS)
          cells[at + word] = Number.parseInt(text, 16)
        }
        return conditionId
      }),
  }
}
