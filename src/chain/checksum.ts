/** Prints an address with the capitals of EIP-55, which reveal a mistyped character. */
export function toChecksum(address: string): string {
  // Imported lazily: a server whose addresses have no capitals never needs it.
  const { getAddress } = require('viem') as typeof import('viem')
  return getAddress(address.toLowerCase())
}
