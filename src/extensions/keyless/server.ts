/** The server extension of purchases without a key. */
import { settingsOf } from '#src/config/config.ts'
import { packsOf } from '#src/domain/selling/tier.ts'
import type { ServerExtension } from '#src/server/extension.ts'

import { createClaims } from './claims.ts'
import { createKeyless, createSeller, type KeylessDeps } from './keyless.ts'
import { createPrices } from './prices.ts'
import { keylessRoutes } from './routes.ts'
import { variables } from './variables.ts'

export const keylessServer: ServerExtension = {
  sellsWithoutKey: (config) => settingsOf(config, variables).isKeyless,
  routes(api, services) {
    const { billing, ledger, clock, randomBytes, origin, listTiers } = services
    const { keysPerAccountMax } = services.config
    const deps: KeylessDeps = {
      billing,
      ledger,
      clock,
      randomBytes,
      origin,
      claims: createClaims({ ledger, clock, randomBytes, keysPerAccountMax }),
      listTiers,
      listPacks: () => packsOf(ledger),
      chargeWindow: services.chargeWindow,
      fetchAgain: services.fetchAgain,
    }
    const isSelling = services.sellsWithoutKey && billing.isOpen
    const seller = isSelling ? createSeller(deps) : undefined
    const keyless = seller && createKeyless(deps, seller)
    return {
      plugins: keylessRoutes(api, { ...deps, seller }),
      hooks: keyless?.hooks,
      answerUnpaid: keyless?.answerUnpaid,
      prices: seller && createPrices(deps),
    }
  },
}
