/**
 * Finds which of many endings gives a text a certain SHA-1, four endings at a time: one instruction
 * works on the same word of four messages (WebAssembly SIMD). A search through a thousand endings
 * takes as long as forty single hashes.
 */

const BLOCK_BYTES = 64
const BLOCK_WORDS = 16
const STATE_WORDS = 5
const ROUNDS = 80
const LANES = 4
const WORD_BYTES = 4
/** One word in all lanes. */
const VECTOR_BYTES = LANES * WORD_BYTES

/** FIPS 180-4, 5.3.1 and 4.2.1. */
const INITIAL = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0] as const
const CONSTANTS = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6] as const

/** Addresses in the module's memory: states, then the blocks of four endings. */
const TEXT_STATE = 0
const OPEN_STATE = 128
const RESULT_STATE = 256
const BLOCKS = 512

type Compress = (state: number, block: number, result: number) => void
type Module = { compress: Compress; words: Int32Array }

let shared: Module | undefined

/** Compiled when the first search begins: most processes never search. */
function loadModule(): Module {
  if (shared !== undefined) return shared
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(printModule()))
  const { memory, compress } = exports
  if (!(memory instanceof WebAssembly.Memory) || typeof compress !== 'function')
    throw new Error('The module exports its memory and its function.')
  shared = { compress: compress as Compress, words: new Int32Array(memory.buffer) }
  return shared
}

/** Endings of equal length, concatenated. */
export type Endings = { bytes: Uint8Array; length: number }

/** The texts before and after the ending. */
type Around = { before: Uint8Array; after: Uint8Array }

export function createSha1Search() {
  let rest = new Uint8Array(0)
  let textLength = 0

  function setState(at: number): void {
    const { words } = loadModule()
    for (let word = 0; word < STATE_WORDS; word++)
      words.fill(
        INITIAL[word] ?? 0,
        at / WORD_BYTES + word * LANES,
        at / WORD_BYTES + (word + 1) * LANES,
      )
  }

  /** Hashes the whole blocks of bytes into a state; returns the remaining bytes. */
  function absorb(bytes: Uint8Array, state: number): Uint8Array {
    const { words, compress } = loadModule()
    const end = bytes.length - (bytes.length % BLOCK_BYTES)
    for (let start = 0; start < end; start += BLOCK_BYTES) {
      writeBlocks(words, bytes.subarray(start, start + BLOCK_BYTES))
      compress(state, BLOCKS, state)
    }
    return bytes.subarray(end)
  }

  return {
    /** Begins with a text; the caller may change its bytes afterwards. */
    begin(text: Uint8Array): void {
      setState(TEXT_STATE)
      rest = absorb(text, TEXT_STATE).slice()
      textLength = text.length
    },

    /**
     * Returns the index of the ending with which the text has the hash (40 hex digits), or -1.
     * Tries endings near `first` first.
     */
    find(hash: string, { bytes, length }: Endings, { before, after }: Around, first = 0): number {
      const { words, compress } = loadModule()
      const wanted = Array.from(
        { length: STATE_WORDS },
        (_, word) => Number.parseInt(hash.slice(word * 8, word * 8 + 8), 16) | 0,
      )
      words.copyWithin(OPEN_STATE / WORD_BYTES, TEXT_STATE / WORD_BYTES, STATE_WORDS * LANES)
      const open = absorb(join(rest, before), OPEN_STATE)
      const totalLength = textLength + before.length + length + after.length
      const last = padded(open, length, after, totalLength)
      writeBlocks(words, last)
      const blockCount = last.length / BLOCK_BYTES
      const start = open.length
      const firstWord = start >> 2
      const lastWord = (start + length - 1) >> 2
      const base = Array.from({ length: lastWord - firstWord + 1 }, (_, at) =>
        wordAt(last, firstWord + at),
      )
      const count = bytes.length / length

      function matches(lane: number): boolean {
        for (let word = 0; word < STATE_WORDS; word++)
          if (words[RESULT_STATE / WORD_BYTES + word * LANES + lane] !== wanted[word]) return false
        return true
      }

      function tryGroup(group: number): number {
        for (let lane = 0; lane < LANES; lane++) {
          const own = Math.min(group * LANES + lane, count - 1) * length
          for (let word = firstWord; word <= lastWord; word++) {
            let value = base[word - firstWord] ?? 0
            const from = Math.max(start, word * WORD_BYTES)
            const to = Math.min(start + length, (word + 1) * WORD_BYTES)
            for (let at = from; at < to; at++)
              value |= (bytes[own + at - start] ?? 0) << (24 - 8 * (at & 3))
            words[BLOCKS / WORD_BYTES + word * LANES + lane] = value
          }
        }
        compress(OPEN_STATE, BLOCKS, RESULT_STATE)
        for (let block = 1; block < blockCount; block++)
          compress(RESULT_STATE, BLOCKS + block * BLOCK_WORDS * VECTOR_BYTES, RESULT_STATE)
        for (let lane = 0; lane < LANES; lane++)
          if (matches(lane)) return Math.min(group * LANES + lane, count - 1)
        return -1
      }

      const groups = Math.ceil(count / LANES)
      const middle = Math.min(Math.floor(Math.max(first, 0) / LANES), groups - 1)
      for (let distance = 0; distance < groups; distance++) {
        for (const group of distance === 0 ? [middle] : [middle - distance, middle + distance]) {
          const found = group < 0 || group >= groups ? -1 : tryGroup(group)
          if (found >= 0) return found
        }
      }
      return -1
    },
  }
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(a.length + b.length)
  bytes.set(a)
  bytes.set(b, a.length)
  return bytes
}

/** The blocks from `open` to the end of a message, with zeros for the ending: FIPS 180-4, 5.1.1. */
function padded(open: Uint8Array, length: number, after: Uint8Array, total: number): Uint8Array {
  const used = open.length + length + after.length
  const bytes = new Uint8Array(Math.ceil((used + 9) / BLOCK_BYTES) * BLOCK_BYTES)
  bytes.set(open)
  bytes.set(after, open.length + length)
  bytes[used] = 0x80
  new DataView(bytes.buffer).setUint32(bytes.length - WORD_BYTES, total * 8)
  return bytes
}

const wordAt = (bytes: Uint8Array, word: number): number =>
  ((bytes[word * 4] ?? 0) << 24) |
  ((bytes[word * 4 + 1] ?? 0) << 16) |
  ((bytes[word * 4 + 2] ?? 0) << 8) |
  (bytes[word * 4 + 3] ?? 0)

/** Writes the same blocks into all lanes. */
function writeBlocks(words: Int32Array, bytes: Uint8Array): void {
  const start = BLOCKS / WORD_BYTES
  for (let word = 0; word < bytes.length / WORD_BYTES; word++) {
    const value = wordAt(bytes, word)
    for (let lane = 0; lane < LANES; lane++) words[start + word * LANES + lane] = value
  }
}

/** WebAssembly opcodes; vector opcodes follow the prefix 0xfd. */
const codes = { getLocal: 0x20, setLocal: 0x21, constant: 0x41, end: 0x0b, vector: 0xfd } as const
const vectorCodes = {
  load: 0x00,
  store: 0x0b,
  splat: 0x11,
  and: 0x4e,
  or: 0x50,
  xor: 0x51,
  shiftLeft: 0xab,
  shiftRight: 0xad,
  add: 0xae,
} as const

/** LEB128, WebAssembly's encoding of integers. */
function unsigned(value: number): number[] {
  const low = value & 0x7f
  const high = value >>> 7
  return high === 0 ? [low] : [low | 0x80, ...unsigned(high)]
}
function signed(value: number): number[] {
  const low = value & 0x7f
  const high = value >> 7
  const isLast = high === (low & 0x40 ? -1 : 0)
  return isLast ? [low] : [low | 0x80, ...signed(high)]
}

/** Encodes the module: its memory, and a loop-free function that hashes a block in four lanes. */
function printModule(): Uint8Array<ArrayBuffer> {
  const body = printCompress()
  const section = (id: number, bytes: readonly number[]) => [
    id,
    ...unsigned(bytes.length),
    ...bytes,
  ]
  const name = (text: string) => [text.length, ...new TextEncoder().encode(text)]
  const [i32, v128] = [0x7f, 0x7b]
  const locals = [1, ...unsigned(STATE_WORDS + BLOCK_WORDS + 1), v128]
  const code = [...locals, ...body]
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    // One type: three addresses, no result.
    ...section(1, [1, 0x60, 3, i32, i32, i32, 0]),
    ...section(3, [1, 0]),
    // One page of memory.
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('compress'), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ])
}

/** The compression function of FIPS 180-4, 6.1.2; its parameters are state, block and result. */
function printCompress(): number[] {
  const code: number[] = []
  const get = (local: number) => code.push(codes.getLocal, ...unsigned(local))
  const set = (local: number) => code.push(codes.setLocal, ...unsigned(local))
  const put = (value: number) => code.push(codes.constant, ...signed(value | 0))
  const apply = (name: keyof typeof vectorCodes) =>
    code.push(codes.vector, ...unsigned(vectorCodes[name]))
  const at = (name: 'load' | 'store', word: number) => {
    apply(name)
    // Aligned to 2^4 bytes.
    code.push(4, ...unsigned(word * VECTOR_BYTES))
  }
  const rotate = (local: number, bits: number) => {
    get(local)
    put(bits)
    apply('shiftLeft')
    get(local)
    put(32 - bits)
    apply('shiftRight')
    apply('or')
  }
  const [state, block, result] = [0, 1, 2]
  const working = [3, 4, 5, 6, 7]
  const schedule = 8
  const spare = schedule + BLOCK_WORDS
  const load = (address: number, word: number, local: number) => {
    get(address)
    at('load', word)
    set(local)
  }
  for (const [word, local] of working.entries()) load(state, word, local)
  for (let word = 0; word < BLOCK_WORDS; word++) load(block, word, schedule + word)
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = working
  for (let round = 0; round < ROUNDS; round++) {
    const own = schedule + (round % BLOCK_WORDS)
    if (round >= BLOCK_WORDS) {
      get(own)
      for (const back of [3, 8, 14]) {
        get(schedule + ((round - back) % BLOCK_WORDS))
        apply('xor')
      }
      set(spare)
      rotate(spare, 1)
      set(own)
    }
    const quarter = Math.floor((round * CONSTANTS.length) / ROUNDS)
    get(e)
    get(own)
    apply('add')
    put(CONSTANTS[quarter] ?? 0)
    apply('splat')
    apply('add')
    if (quarter === 0) {
      // Choose.
      for (const local of [c, d]) get(local)
      apply('xor')
      get(b)
      apply('and')
      get(d)
      apply('xor')
    } else if (quarter === 2) {
      // Majority.
      for (const local of [b, c]) get(local)
      apply('and')
      for (const local of [b, c]) get(local)
      apply('or')
      get(d)
      apply('and')
      apply('or')
    } else {
      // Parity.
      for (const local of [b, c]) get(local)
      apply('xor')
      get(d)
      apply('xor')
    }
    apply('add')
    rotate(a, 5)
    apply('add')
    set(e)
    rotate(b, 30)
    set(b)
    ;[a, b, c, d, e] = [e, a, b, c, d]
  }
  // 80 rounds rotate the five words sixteen times, so each is back in its place.
  for (const [word, local] of working.entries()) {
    get(result)
    get(state)
    at('load', word)
    get(local)
    apply('add')
    at('store', word)
  }
  code.push(codes.end)
  return code
}
