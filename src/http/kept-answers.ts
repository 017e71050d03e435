/** Answers of pages that are asked for again. */
import { isOver } from '#src/domain/coverage.ts'
import type { FindMarket } from '#src/domain/market-name.ts'
import type { Market } from '#src/domain/market.ts'
import type { PageCache } from '#src/platform/page-cache.ts'

import type { PageAnswer } from './data-response.ts'
import { acceptsGzip } from './negotiation.ts'
import type { Place, RouteTable } from './route-table.ts'

type AnswerPorts = {
  findMarket: FindMarket
  pages: PageCache
  places: Pick<RouteTable, 'keep'>
}
type Answered = { request: Request; place: Place; market?: Market | undefined }

/** Remembers all of an answer that follows from the address and a market that is over. */
export function createAnswers({ findMarket, pages, places }: AnswerPorts) {
  const codingOf = ({ headers }: Request) =>
    acceptsGzip(headers.get('accept-encoding')) ? 'gzip' : 'plain'
  return {
    find(request: Request, { answers }: Place): PageAnswer | undefined {
      const known = answers?.[codingOf(request)]
      // A market is another object at its next revision.
      const isCurrent = known && findMarket(known.market.conditionId) === known.market
      return isCurrent ? known.answer : undefined
    },

    /** Only of a page that is kept itself, because it was asked for again. */
    put({ request, market, place }: Answered, answer: PageAnswer): void {
      if (market === undefined || !isOver(market) || pages.find(answer.tag) === undefined) return
      const again = { ...answer, sent: { page: undefined, init: {} } }
      place.answers = { ...place.answers, [codingOf(request)]: { market, answer: again } }
      places.keep(place)
    },
  }
}
