/**
 * Purchases without a key: a request, a pack or a tier for an x402 payment sent with the request.
 */
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

export const keyless: Extension = {
  name: 'keyless',
  variables,
  checks: { prices: async (context) => (await import('./check.ts')).checkPrices(context) },
  load: async () => (await import('./server.ts')).keylessServer,
}
