/** Canonical Huffman codes (RFC 1951 §3.2.2), bit-reversed: deflate writes the lowest bit first. */
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
