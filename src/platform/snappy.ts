/** Snappy's raw format (https://github.com/google/snappy/blob/main/format_description.txt). */

const HASH_BITS = 13
const SHIFT = 32 - HASH_BITS
const MATCH_MIN = 4
/** Longest copy of one element, and its greatest distance. */
const COPY_MAX = 64
const DISTANCE_MAX = 65_535
/** Up to these, a copy takes two bytes instead of three. */
const SHORT_COPY_MAX = 11
const SHORT_DISTANCE_MAX = 2047
const SHORT_LITERAL_MAX = 60

/** Compresses pages one after the other; a result is valid until the next call. */
export function createSnappy(): (input: Uint8Array) => Uint8Array {
  const places = new Int32Array(2 ** HASH_BITS)
  let out = new Uint8Array(65_536)
  let to = 0

  /** Writes the length of a literal in as few bytes as possible. */
  function literalHead(last: number): void {
    if (last < SHORT_LITERAL_MAX) {
      out[to++] = last << 2
      return
    }
    const bytes = Math.ceil((32 - Math.clz32(last)) / 8)
    out[to++] = (SHORT_LITERAL_MAX - 1 + bytes) << 2
    for (let byte = 0; byte < bytes; byte++) out[to++] = last >>> (byte * 8)
  }

  function literal(input: Uint8Array, from: number, end: number): void {
    const length = end - from
    if (length === 0) return
    literalHead(length - 1)
    if (length > SHORT_LITERAL_MAX) out.set(input.subarray(from, end), to)
    else for (let at = 0; at < length; at++) out[to + at] = input[from + at] ?? 0
    to += length
  }

  function copy(distance: number, length: number): void {
    for (let rest = length; rest > 0;) {
      // The remainder must be long enough for a copy of its own.
      const part = rest > COPY_MAX ? Math.min(COPY_MAX, rest - MATCH_MIN) : rest
      rest -= part
      if (part <= SHORT_COPY_MAX && distance <= SHORT_DISTANCE_MAX) {
        out[to++] = 1 | ((part - MATCH_MIN) << 2) | ((distance >>> 8) << 5)
        out[to++] = distance
      } else {
        out[to++] = 2 | ((part - 1) << 2)
        out[to++] = distance
        out[to++] = distance >>> 8
      }
    }
  }

  return (input) => {
    const { length } = input
    const view = new DataView(input.buffer, input.byteOffset, length)
    // More than incompressible input takes.
    if (out.length < length * 2 + COPY_MAX) out = new Uint8Array(length * 4)
    to = 0
    let rest = length
    for (; rest > 127; rest >>>= 7) out[to++] = rest | 128
    out[to++] = rest
    places.fill(0)
    let begin = 0
    for (let at = 1; at + MATCH_MIN <= length;) {
      const word = view.getInt32(at, true)
      const hash = Math.imul(word, 0x1e35a7bd) >>> SHIFT
      const place = places[hash] ?? 0
      places[hash] = at
      if (view.getInt32(place, true) !== word || at - place > DISTANCE_MAX) {
        // Skips faster the longer nothing is found.
        at += 1 + ((at - begin) >>> 5)
        continue
      }
      literal(input, begin, at)
      begin = at
      at += MATCH_MIN
      while (at < length && input[at] === input[at - begin + place]) at++
      copy(begin - place, at - begin)
      begin = at
    }
    literal(input, begin, length)
    return out.subarray(0, to)
  }
}
