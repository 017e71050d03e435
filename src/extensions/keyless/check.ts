/** Products that one payment could buy, for `bookfeed doctor`. */
import { existsSync } from 'node:fs'

import { settingsOf } from '#src/config/config.ts'
import { listRivals, packsOf } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'
import { type CliContext, finder, type Finding } from '#src/server/extension.ts'
import { ledgerOf } from '#src/server/open-data-folder.ts'

import { variables } from './variables.ts'

const found = finder('prices')

export function checkPrices(context: CliContext): Finding[] {
  if (!settingsOf(context.config(), variables).isKeyless) return []
  const place = ledgerOf(context)
  if (!existsSync(place)) return []
  const ledger = openLedger(place, { nowMs: context.clock(), isReadOnly: true })
  try {
    const all = [...ledger.listTiers(), ...packsOf(ledger)]
    const equal = all.filter((product) => listRivals(product, all).length > 0)
    const groups = Map.groupBy(equal, ({ amountMillionths }) => amountMillionths).values()
    const findings = [...groups].map((products) => {
      const ids = products.map(({ tierId }) => tierId)
      return found(
        'warning',
        `${ids.join(' and ')} are for sale at the same price: a payment that its owner has sent to the chain could be presented for each of them.`,
        `Give them different prices: bookfeed tiers set ${ids.at(-1)} --price.`,
      )
    })
    return findings.length > 0 ? findings : [found('ok', 'No two products have the same price.')]
  } finally {
    ledger.dispose()
  }
}
