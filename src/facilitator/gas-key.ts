import type { Hex } from 'viem'

import { isPrivateKey } from '#src/chain/payer.ts'
import { readSecretFile, SecretFault } from '#src/lib/secret-file.ts'

const VARIABLE = 'BOOKFEED_GAS_KEY'

/**
 * The private key that pays for gas: what the variable holds, or the file of its owner alone that
 * it names. Throws `SecretFault`, whose message holds neither key nor path.
 */
export function readGasKey(value: string): Hex {
  const isHere = /^0x[0-9a-fA-F]{64}$/.test(value)
  const name = `${VARIABLE} is no private key, and the file that it names`
  const text = isHere ? value : readSecretFile(value, name)
  if (isPrivateKey(text)) return text
  const holder = isHere ? VARIABLE : `The file that ${VARIABLE} names`
  throw new SecretFault(`${holder} must hold a private key: 0x and 64 hex digits.`)
}
