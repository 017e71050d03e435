import { ENCODED, parseServerAddress } from '#src/platform/server-address.ts'

/** An address of a Redis, which may have a password; empty for none. */
function parseRedis(text: string): string | undefined {
  const url = parseServerAddress(text, ['redis:', 'rediss:'])
  return text === '' || /^\/?\d{0,9}$/.test(url?.pathname ?? '-') ? text : undefined
}

export const variables = {
  limits: {
    name: 'BOOKFEED_LIMITS',
    default: '',
    isSecret: true,
    accepts: `an address of a Redis, as redis://user:password@host:6379 or redis://host:6379/1, or rediss:// for TLS (${ENCODED})`,
    parse: parseRedis,
    description:
      'Redis (or Valkey) in which several servers count requests, so that the limits of keys and addresses apply to all of them together. Empty: each server counts its own requests. A secret; never shown.',
  },
}
