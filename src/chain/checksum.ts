/** An address with the capitals of EIP-55, which show that a character of it was mistyped. */
export function toChecksum(address: string): string {
  // Loaded here: a server whose address has no capitals never needs it.
  const { getAddress } = require('viem') as typeof import('viem')
  return getAddress(address.toLowerCase())
}
