/** Pages that are asked for again are answered by their address, before any route is looked for. */
import { isOver } from '#src/domain/coverage.ts'
import type { FindMarket } from '#src/domain/market-name.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import type { PageCache } from '#src/platform/page-cache.ts'

import type { PageAnswer } from './answer.ts'
import { answerPage } from './data-response.ts'
import { type AccessPorts, admit } from './gate.ts'
import { acceptsGzip } from './negotiation.ts'
import type { TargetCache } from './route-table.ts'
import { type Arrived, visitOf } from './visit.ts'
import type { Work } from './work.ts'

type Ports = AccessPorts & {
  findMarket: FindMarket
  pages: PageCache
  work: Work
  /** Where the front door finds a target again by its URL. */
  targets: Pick<TargetCache, 'set'>
  staleSince: StaleSince
}
export type KeptAnswers = ReturnType<typeof createKeptAnswers>

const codingOf = ({ headers }: Request) =>
  acceptsGzip(headers.get('accept-encoding')) ? 'gzip' : 'plain'

/** Whether an answer by address alone would be the wrong one: most clients send no such header. */
const choosesFormat = ({ headers }: Request): boolean => {
  const accept = headers.get('accept')
  return accept !== null && accept !== '*/*' && accept !== 'application/json'
}

/** Remembers all of an answer that follows from the address and a market that is over. */
export function createKeptAnswers(ports: Ports) {
  const { findMarket, pages, targets } = ports
  return {
    /**
     * Answers a request for a page that was asked for before; undefined where there is none. Throws
     * what `admit` throws.
     */
    answer({ request, target, visit }: Arrived): Response | Promise<Response> | undefined {
      if (target.answers === undefined || request.method !== 'GET') return undefined
      const known = target.answers[codingOf(request)]
      if (known === undefined || choosesFormat(request)) return undefined
      const { market, answer, admission, timedAs } = known
      visit.timedAs = timedAs
      admit(request, admission, ports)
      // A market is another object at its next revision.
      if (findMarket(market.conditionId) !== market) return undefined
      return visit.rehearsedFor === undefined
        ? answerPage(request, answer, ports)
        : new Response(null, { status: 204 })
    },

    /** Sends a page, and keeps its answer if the page itself is kept, because it was asked for again. */
    send(request: Request, answer: PageAnswer): Response | Promise<Response> {
      const { market, admission, timedAs, target } = visitOf(request)
      if (market !== undefined && admission !== undefined && target !== undefined) {
        if (isOver(market) && pages.find(answer.tag) !== undefined) {
          const again = { ...answer, sent: { page: undefined, init: {} } }
          const known = { market, answer: again, admission, timedAs }
          target.answers = { ...target.answers, [codingOf(request)]: known }
          targets.set(target.url, target, { size: 1 })
        }
      }
      return answerPage(request, answer, ports)
    },
  }
}
