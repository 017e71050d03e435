/**
 * Hand-written contracts for tests, one opcode per line. They check only what tests need and
 * replace real contracts where only call and result matter.
 */

/** A word of 32 bytes. */
export const toWord = (hex: string): `0x${string}` =>
  `0x${hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')}`

const assemble = (...lines: string[]): string =>
  `0x${lines.map((line) => line.replaceAll(' ', '')).join('')}`

/** Selectors: the first four bytes of the hash of a function's signature. */
export const selectors = {
  'isSanctioned(address)': 'df592f7d',
  'isBlacklisted(address)': 'fe575a87',
  'isBlocked(address)': 'fbac3951',
  'isValidSignature(bytes32,bytes)': '1626ba7e',
} as const

/** Continues only if the call is of one function, and reverts otherwise. */
const onlyFor = (selector: string): string[] => [
  '60 00', //        PUSH1 0        where the selector is
  '35', //           CALLDATALOAD   the first word of the call
  '60 e0', //        PUSH1 224
  '1c', //           SHR            its first four bytes
  `63 ${selector}`, // PUSH4        the selector that we answer to
  '14', //           EQ
  '60 14', //        PUSH1 20       the JUMPDEST below
  '57', //           JUMPI          there, if equal
  '60 00', //        PUSH1 0
  '60 00', //        PUSH1 0
  'fd', //           REVERT         with nothing
  '5b', //           JUMPDEST       byte 20
]

/** Returns the word on top of the stack. */
const returnTop = [
  '60 00', // PUSH1 0
  '52', //    MSTORE   memory[0..32] = top
  '60 20', // PUSH1 32
  '60 00', // PUSH1 0
  'f3', //    RETURN   memory[0..32]
]

/** A list: answers `selector(key)` with storage[key]. */
export const listCode = (selector: string): string =>
  assemble(
    ...onlyFor(selector),
    '60 04', // PUSH1 4        where the argument is
    '35', //    CALLDATALOAD
    '54', //    SLOAD          storage[argument]
    ...returnTop,
  )

/**
 * A contract wallet (ERC-1271): accepts a signature if its first word is storage[hash], and answers
 * with zero otherwise. A call consists of selector, hash, offset of the signature, its length, the
 * signature.
 */
export const walletCode: string = assemble(
  ...onlyFor(selectors['isValidSignature(bytes32,bytes)']),
  '60 04', // PUSH1 4        where the hash is
  '35', //    CALLDATALOAD
  '54', //    SLOAD          the signature that was agreed upon
  '60 64', // PUSH1 100      where the signature is: 4 + 32 + 32 + 32
  '35', //    CALLDATALOAD   its first word
  '14', //    EQ             1 or 0
  '63 1626ba7e', // PUSH4    the magic value
  '02', //    MUL            the magic value or 0
  '60 e0', // PUSH1 224
  '1b', //    SHL            to the left of the word, as bytes4 are
  ...returnTop,
)

/** Always reverts. */
export const revertingCode = assemble(
  '60 00', // PUSH1 0
  '60 00', // PUSH1 0
  'fd', //    REVERT
)

/** Has code, but returns nothing. */
export const emptyAnswerCode = assemble(
  '00', // STOP
)

/** Answers every call with 2, which is not a boolean. */
export const twoCode = assemble(
  '60 02', // PUSH1 2
  ...returnTop,
)
