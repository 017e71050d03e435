import { onOff } from '#src/platform/setting.ts'

export const variables = {
  isKeyless: {
    name: 'BOOKFEED_KEYLESS',
    default: 'off',
    ...onOff,
    description:
      'Whether callers without a key can pay: data routes answer 402 in place of 401, and x402 clients can buy packs and tiers directly.',
  },
}
