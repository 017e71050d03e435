import { describe, expect, test } from 'bun:test'

import { reversedCodes } from '#src/platform/huffman.ts'
import { createRandom } from '#src/platform/random.ts'

import { huffmanLengths } from '../../bench/huffman-lengths.ts'

const kraftSum = (lengths: readonly number[]): number =>
  lengths.reduce((sum, bits) => sum + (bits > 0 ? 2 ** -bits : 0), 0)

const cost = (frequencies: readonly number[], lengths: readonly number[]): number =>
  frequencies.reduce((sum, frequency, at) => sum + frequency * (lengths[at] ?? 0), 0)

/** Bits of an unbounded Huffman code: the sum of all merges. */
function huffmanCost(frequencies: readonly number[]): number {
  const rest = frequencies.filter((frequency) => frequency > 0)
  let total = 0
  while (rest.length > 1) {
    rest.sort((a, b) => b - a)
    const merged = (rest.pop() ?? 0) + (rest.pop() ?? 0)
    total += merged
    rest.push(merged)
  }
  return total
}

describe('huffmanLengths', () => {
  test('default: gives the known optimal codes', () => {
    expect(huffmanLengths([1, 1], 15)).toEqual([1, 1])
    expect(huffmanLengths([5, 9, 12, 13, 16, 45], 15)).toEqual([4, 4, 3, 3, 3, 1])
    expect(huffmanLengths([8, 4, 2, 1, 1], 15)).toEqual([1, 2, 3, 4, 4])
    expect(huffmanLengths([0, 1, 0, 1, 0, 0], 15)).toEqual([0, 1, 0, 1, 0, 0])
    expect(huffmanLengths([1, 1, 1, 1, 1, 1, 1, 1], 3)).toEqual([3, 3, 3, 3, 3, 3, 3, 3])
  })

  test('behavior: obeys its bound where the best code would be longer', () => {
    const fibonacci = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    expect(Math.max(...huffmanLengths(fibonacci, 15))).toBe(9)
    const bounded = huffmanLengths(fibonacci, 4)
    expect(Math.max(...bounded)).toBe(4)
    expect(kraftSum(bounded)).toBe(1)
    // The textbook optimum of this list at four bits, found by trying every complete code.
    expect(cost(fibonacci, bounded)).toBe(cheapestCost(fibonacci, 4))
  })

  test('behavior: costs what an unbounded Huffman code costs when the bound is wide', () => {
    const random = createRandom('huffman')
    for (let round = 0; round < 100; round++) {
      const frequencies = Array.from({ length: 2 + random.integer(40) }, () => random.integer(500))
      frequencies.push(1, 2)
      const lengths = huffmanLengths(frequencies, 32)
      expect(cost(frequencies, lengths)).toBe(huffmanCost(frequencies))
      expect(kraftSum(lengths)).toBe(1)
    }
  })
})

/**
 * The least cost of any complete code of at most `bitsMax` bits, by trying
 * how many codes each length has.
 */
function cheapestCost(frequencies: readonly number[], bitsMax: number): number {
  const sorted = frequencies.toSorted((a, b) => b - a)
  const search = (bits: number, free: number, at: number): number => {
    if (at === sorted.length) return 0
    if (bits > bitsMax) return Number.POSITIVE_INFINITY
    let best = Number.POSITIVE_INFINITY
    let here = 0
    for (let count = 0; count <= Math.min(free, sorted.length - at); count++) {
      if (count > 0) here += (sorted[at + count - 1] ?? 0) * bits
      best = Math.min(best, here + search(bits + 1, (free - count) * 2, at + count))
    }
    return best
  }
  return search(1, 2, 0)
}

describe('reversedCodes', () => {
  test('default: gives the canonical codes of RFC 1951 §3.2.2, their first bit lowest', () => {
    const codes = [0b010, 0b011, 0b100, 0b101, 0b110, 0b00, 0b1110, 0b1111]
    const lengths = [3, 3, 3, 3, 3, 2, 4, 4]
    const reversed = codes.map((code, at) =>
      Number.parseInt([...code.toString(2).padStart(lengths[at] ?? 0, '0')].reverse().join(''), 2),
    )
    expect(reversedCodes(lengths)).toEqual(reversed)
  })
})
