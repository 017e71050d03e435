/**
 * Huffman code lengths under a bound, by package-merge (Larmore and Hirschberg 1990).
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
