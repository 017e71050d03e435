import { onOff } from '#src/platform/setting.ts'

export const variables = {
  isKeyless: {
    name: 'BOOKFEED_KEYLESS',
    default: 'off',
    ...onOff,
    description:
      'Allows callers without a key to pay: data routes respond with 402 instead of 401, and x402 clients can buy packs and tiers.',
  },
}
