/**
 * Huffman code lengths under a bound, by package-merge (Larmore and Hirschberg 1990), and the
 * canonical codes that deflate derives from lengths (RFC 1951 §3.2.2).
 */

type Package = { weight: number; symbols: readonly number[] }

/**
 * Optimal code lengths of at most `bitsMax` for the given frequencies; 0 where the frequency is 0.
 * At least two symbols must occur and `2 ** bitsMax` must not be below their number.
 */
export function huffmanLengths(frequencies: readonly number[], bitsMax: number): number[] {
  const leaves = frequencies
    .map((weight, symbol): Package => ({ weight, symbols: [symbol] }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => a.weight - b.weight)
  let level = leaves
  for (let bit = 1; bit < bitsMax; bit++) {
    const pairs: Package[] = []
    for (let i = 0; i + 1 < level.length; i += 2) pairs.push(join(level[i], level[i + 1]))
    level = [...leaves, ...pairs].sort((a, b) => a.weight - b.weight)
  }
  const lengths = frequencies.map(() => 0)
  for (const { symbols } of level.slice(0, 2 * leaves.length - 2)) {
    for (const symbol of symbols) lengths[symbol] = (lengths[symbol] ?? 0) + 1
  }
  return lengths
}

const join = (a: Package | undefined, b: Package | undefined): Package => ({
  weight: (a?.weight ?? 0) + (b?.weight ?? 0),
  symbols: [...(a?.symbols ?? []), ...(b?.symbols ?? [])],
})

/** Canonical codes for `lengths`, bits reversed, as deflate writes the lowest bit first. */
export function reversedCodes(lengths: readonly number[]): number[] {
  const codes = lengths.map(() => 0)
  let next = 0
  for (let bits = 1; bits <= 15; bits++) {
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] === bits) codes[symbol] = reverseBits(next++, bits)
    }
    next <<= 1
  }
  return codes
}

function reverseBits(value: number, count: number): number {
  let reversed = 0
  for (let i = 0; i < count; i++) reversed |= ((value >>> i) & 1) << (count - 1 - i)
  return reversed
}
