import type { Config } from '#src/config.ts'
import { createNetworkSet } from '#src/lib/network.ts'
import type { SignupState } from '#src/selling/screening.ts'

const isLoopbackAddress = createNetworkSet([
  { address: '127.0.0.0', bits: 8, family: 'ipv4' },
  { address: '::1', bits: 128, family: 'ipv6' },
])

/** True if only programs of this machine reach a server on this host. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || isLoopbackAddress(host)

/**
 * Whether a server with these settings can take wallets in: it must know its own address, by which
 * they distinguish it from an impostor, and it must be able to screen them.
 */
export function signupStateOf({ publicUrl, host }: Config, screening: SignupState): SignupState {
  if (publicUrl !== '' || isLoopback(host)) return screening
  return {
    isOpen: false,
    reason: 'BOOKFEED_PUBLIC_URL is not set, so wallets cannot see what they sign in to.',
  }
}
