/** The private key that pays for gas: from the variable itself, or from a file that only its owner may read. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

export type GasKey = `0x${string}`

/** Why there is no key. `message` is fit for the operator: it holds neither key nor path. */
export class GasKeyFault extends Error {
  override name = 'GasKeyFault'
}

const VARIABLE = 'BOOKFEED_GAS_KEY'
const FILE_BYTES_MAX = 1024
/** Any right of the group or of others. */
const OTHERS = 0o077
/** The order of secp256k1: a private key is from 1 to below it. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const isKeyText = (text: string): text is GasKey => /^0x[0-9a-fA-F]{64}$/.test(text)

/** Reads what the variable holds: a key, or the path of a file that holds one. Throws `GasKeyFault`. */
export function readGasKey(value: string): GasKey {
  const isKey = isKeyText(value)
  const text = isKey ? value : readKeyFile(value)
  if (isKeyText(text) && isInRange(BigInt(text))) return text
  const holder = isKey ? VARIABLE : `The file that ${VARIABLE} names`
  throw new GasKeyFault(`${holder} must hold a private key: 0x and 64 hex digits.`)
}

const isInRange = (key: bigint): boolean => key > 0n && key < ORDER

function readKeyFile(path: string): string {
  const file = open(path)
  if (file === undefined) {
    throw new GasKeyFault(
      `${VARIABLE} is neither 0x and 64 hex digits nor the path of a file that can be read.`,
    )
  }
  try {
    // Of the open file, so that nothing can be put in its place after the check.
    const { mode, size } = fstatSync(file)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG || size > FILE_BYTES_MAX) {
      throw new GasKeyFault(`What ${VARIABLE} names is not a file of a key alone.`)
    }
    if ((mode & OTHERS) !== 0) {
      throw new GasKeyFault(
        `The file that ${VARIABLE} names can be reached by others (mode ${(mode & 0o777).toString(8)}). Run chmod 600 on it; if others could read it before, use a new key.`,
      )
    }
    return readFileSync(file, 'utf8').trim()
  } finally {
    closeSync(file)
  }
}

/** Undefined if it cannot be: the reason would show the path, which is a mistyped key as likely as not. */
function open(path: string): number | undefined {
  try {
    // Without waiting for somebody to write, should it be a pipe.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}
