/** Responses with pages of a market's history, and the cache that finds them by URL. */
import { Elysia } from 'elysia'

import { isOver } from '#src/domain/coverage.ts'
import type { FindMarket, Market } from '#src/domain/market.ts'
import { isBehind, type Silences } from '#src/history/reads/with-downtime.ts'
import { createCache } from '#src/platform/cache.ts'
import type { Page, PageCache } from '#src/platform/page-cache.ts'

import type { PageAnswer } from './answer.ts'
import { type Admission, bindEntry, callOf, entryOf } from './call.ts'
import { coverageFor, hasTag, initFrom, mayBeKept, respond } from './data-response.ts'
import { acceptsGzip } from './negotiation.ts'
import type { Promises } from './promises.ts'
import { type AccessPorts, admit } from './rights.ts'
import type { RequestTarget } from './target.ts'

type PagePorts = AccessPorts & {
  findMarket: FindMarket
  pages: PageCache
  silences: Silences
}

/**
 * Answers from the cache of pages, or with 304, because the tag is known before rows are read.
 * Undefined if the page must be made.
 */
function answerFound(
  request: Request,
  answer: PageAnswer,
  silences: Silences,
): Response | undefined {
  const { tag, isGzip, vary, sent, findPage } = answer
  const coverage = coverageFor(request, answer, silences)
  const etag = `"${tag}"`
  if (mayBeKept(coverage) && hasTag(request, etag)) {
    const caching = answer.isClosed ? 'closed' : 'open'
    return respond(null, { caching, isGzip, etag, coverage, vary })
  }
  const found = findPage()
  if (found === undefined) return undefined
  if (sent?.page === found) return new Response(found.body, sent.init)
  const response = sendPage(answer, found, coverage)
  if (sent !== undefined) answer.sent = { page: found, init: initFrom(response) }
  return response
}

function sendPage(
  { isClosed, isGzip, vary }: PageAnswer,
  { body, tag, resumeCursor }: Page,
  coverage: string | undefined,
): Response {
  const lasting = isClosed ? 'closed' : 'open'
  const isKept = mayBeKept(coverage)
  const etag = isKept ? `"${tag}"` : undefined
  const caching = isKept ? lasting : 'unkept'
  return respond(body, { caching, isGzip, etag, coverage, vary, resumeCursor })
}

export type KeptPages = ReturnType<typeof createKeptPages>

/** The maximum number of URLs; one takes about 2 kB. */
const URLS_MAX = 4_096

type KeptPage = { market: Market; answer: PageAnswer; admission: Admission; route: string }

/** The page of a URL, without coding and in gzip. */
type KeptUrl = {
  target: RequestTarget
  pages: { [coding in 'plain' | 'gzip']?: KeptPage }
}

const codingOf = ({ headers }: Request) =>
  acceptsGzip(headers.get('accept-encoding')) ? 'gzip' : 'plain'

/** True if the format of the response depends on `Accept`; most clients state it in the URL. */
const choosesFormat = ({ headers }: Request): boolean => {
  const accept = headers.get('accept')
  return accept !== null && accept !== '*/*' && accept !== 'application/json'
}

/**
 * Answers pages that are requested again by URL, before Elysia looks for a route: once a market is
 * over, the URL determines the whole response.
 */
export function createKeptPages(ports: PagePorts) {
  const { findMarket, pages, silences } = ports
  const urls = createCache<string, KeptUrl>(URLS_MAX)

  /** Keeps the URL of a page that is in the cache already, because it was requested before. */
  function keep(request: Request, answer: PageAnswer): void {
    const entry = entryOf(request)
    if (entry?.market === undefined || !isOver(entry.market)) return
    if (!mayBeKept(answer.coverage) || pages.find(answer.tag) === undefined) return
    const { market, admission, route } = entry
    const again = { ...answer, sent: { page: undefined, init: {} } }
    const known = urls.peek(request.url)?.pages
    const own = { [codingOf(request)]: { market, answer: again, admission, route } }
    const { target } = callOf(request)
    urls.set(request.url, { target, pages: { ...known, ...own } }, { size: 1 })
  }

  /**
   * Answers a request for a page that was requested before and is still kept. Undefined if there
   * is none, and if its caller may not read it: the route says why.
   */
  function answerAgain(request: Request): Response | undefined {
    if (request.method !== 'GET' || choosesFormat(request)) return undefined
    const known = urls.peek(request.url)?.pages[codingOf(request)]
    if (known === undefined) return undefined
    const { market, answer, admission, route } = known
    // A market is another object at its next revision.
    if (findMarket(market.conditionId) !== market) return undefined
    if (!market.isClosed && isBehind(silences())) return undefined
    try {
      const caller = admit(request, admission, ports)
      bindEntry(request, { route, caching: 'page', admission, caller, coin: market.coin, market })
    } catch {
      return undefined
    }
    if (callOf(request).rehearsedFor !== undefined) return new Response(null, { status: 204 })
    return answerFound(request, answer, silences)
  }

  return {
    targetOf: (url: string): RequestTarget | undefined => urls.get(url)?.target,

    /** Answers kept pages before Elysia looks for a route; `finish` ends their requests. */
    plugin: (finish: Promises['finish']) =>
      new Elysia({ name: 'kept' }).onRequest(({ request }) => {
        const page = answerAgain(request)
        const ended = page && finish(request, page, entryOf(request)?.route)
        // Written out, because Elysia takes a hook with a call after `return` for asynchronous.
        if (ended !== undefined) return ended
        return undefined
      }),

    /** Sends a page of a market, and keeps its URL. */
    send(request: Request, answer: PageAnswer): Response | Promise<Response> {
      keep(request, answer)
      const found = answerFound(request, answer, silences)
      if (found !== undefined) return found
      const coverage = coverageFor(request, answer, silences)
      const joining = answer.join?.()
      if (joining !== undefined) return joining.then((page) => sendPage(answer, page, coverage))
      return answer.make(request).then((page) => sendPage(answer, pages.put(page), coverage))
    },
  }
}
