/** The `{coin}` and `{conditionId}` of a path, read the same way by every route that has them. */
import { Type } from '@sinclair/typebox'

import { AppError } from '#src/core/errors.ts'
import { type FindMarket, isMarketName, marketNameText } from '#src/core/market-name.ts'
import { type Coin, coins, conditionIdRule, isCoin, type Market } from '#src/core/market.ts'
import { excerpt } from '#src/selling/excerpt.ts'

import { exampleMarket } from './fields.ts'

/** What the document says of the parts of paths. */
export const pathParameters = {
  coin: Type.String({
    description: `Coin in any case: ${coins.join(', ')}.`,
    examples: [exampleMarket.coin],
  }),
  conditionId: Type.String({
    description: `A market of the coin: ${marketNameText}.`,
    examples: [exampleMarket.conditionId],
  }),
}

/** Throws `unknown_coin`. */
export function readCoin(text: string): Coin {
  const coin = text.toLowerCase()
  if (isCoin(coin)) return coin
  throw new AppError(
    'unknown_coin',
    `There is no coin "${excerpt(text)}". Coins are ${coins.join(', ')}.`,
    { param: 'coin' },
  )
}

/** Throws `invalid_parameter`, or `unknown_market` also for a market of another coin. */
export function readMarket(coin: Coin, name: string, find: FindMarket): Market {
  if (!isMarketName(name)) {
    throw new AppError(
      'invalid_parameter',
      `\`conditionId\` is "${excerpt(name)}", but must be ${conditionIdRule}, an asset id or a slug.`,
      { param: 'conditionId' },
    )
  }
  const market = find(name)
  if (market?.coin === coin) return market
  throw new AppError(
    'unknown_market',
    `There is no ${coin} market ${shown(name)}. GET /v1/${coin}/markets lists those there are.`,
    { param: 'conditionId' },
  )
}

/** A condition id is shown whole, in its one form. */
const shown = (name: string): string => (/^0x/i.test(name) ? name.toLowerCase() : excerpt(name))
