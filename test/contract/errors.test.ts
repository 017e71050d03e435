import { describe, expect, test } from 'bun:test'

import { createCursorCodec } from '#src/core/cursor.ts'
import { type ErrorCode, errorCodes } from '#src/core/errors.ts'

import { fakeHistory } from '../support/fake-history.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf, createMarketHistory } from '../support/market-history.ts'
import { type Entry, expectDocumented, readDocument } from '../support/openapi-document.ts'
import { readProblem, type Send } from '../support/page-client.ts'

const { history, both } = createMarketHistory()
const { send } = createHarness({ history })
const { document, entries } = await readDocument(send)

/** A code that has no way to a caller of HTTP yet, and why. */
const unreachable: Partial<Record<ErrorCode, string>> = {
  market_conflict: 'Nothing is written over HTTP; `bookfeed import` reports it.',
}

const fail = (): never => {
  throw new Error('secret disk fault')
}
const broken = createHarness({ history: fakeHistory({ findMarket: fail, listMarkets: fail }) })
const draining = createHarness({ history })
draining.app.drain()

const foreignCursor = createCursorCodec(history.cursorKey).encode('elsewhere', new Uint8Array(38))

/** How to get each code out of a route, by its path with the parameters in place. */
type Way = { sender?: Send; method?: string; to: (template: string) => string }
const ways: Partial<Record<ErrorCode, Way>> = {
  invalid_parameter: { to: (path) => `${fill(path)}?unheard=1` },
  invalid_request: { to: (path) => fill(path.replace('{coin}', '%zz')) },
  cursor_invalid: { to: (path) => `${fill(path)}?cursor=x` },
  cursor_mismatch: { to: (path) => `${fill(path)}?cursor=${foreignCursor}` },
  not_found: { to: (path) => `${fill(path)}/nowhere` },
  unknown_coin: { to: (path) => fill(path.replace('{coin}', 'doge')) },
  unknown_market: { to: (path) => fill(path.replace('{conditionId}', conditionIdOf('0'))) },
  method_not_allowed: { to: (path) => fill(path), method: 'DELETE' },
  internal: { to: (path) => fill(path), sender: broken.send },
  unavailable: { to: () => '/readyz', sender: draining.send },
}

const fill = (template: string): string =>
  template.replace('{coin}', 'btc').replace('{conditionId}', both.conditionId)

async function provoke(code: ErrorCode, template: string): Promise<Response> {
  const way = ways[code]
  if (way === undefined) throw new Error(`No way to ${code} is known: add one to this test.`)
  const { sender = send, to, method = 'GET' } = way
  return await sender(to(template), { method })
}

const codes = Object.keys(errorCodes) as ErrorCode[]

describe('error codes', () => {
  test.each(codes)('default: %s is reachable, or said not to be', async (code) => {
    if (code in unreachable) return expect(ways).not.toHaveProperty(code)
    const template = '/v1/{coin}/markets/{conditionId}/snapshots'
    const problem = await readProblem(await provoke(code, template))
    expect([problem.code, problem.status]).toEqual([code, errorCodes[code].status])
    expect(problem.title).toBe(errorCodes[code].title)
  })

  test('behavior: the type of each is a section of the page it points to', async () => {
    const html = await (await send('/errors', { headers: { accept: 'text/html' } })).text()
    for (const code of codes) {
      if (code in unreachable) continue
      const { type } = await readProblem(
        await provoke(code, '/v1/{coin}/markets/{conditionId}/snapshots'),
      )
      expect(type).toBe(`/errors#${code}`)
      expect(html).toContain(`id="${code}"`)
    }
  })

  test('error: a fault of ours says nothing of itself, on any route that has one', async () => {
    for (const { path } of entries.filter(({ responses }) => '500' in responses)) {
      const response = await provoke('internal', path)
      const text = await response.text()
      expect([path, response.status]).toEqual([path, 500])
      expect(text).not.toMatch(/secret|disk|\.ts|\bat\b/)
    }
  })
})

describe('documented failures', () => {
  const documented = entries.flatMap((entry) =>
    Object.entries(entry.responses).flatMap(([status, { content }]) =>
      Object.keys(content?.['application/problem+json']?.examples ?? {}).map(
        (code) =>
          [entry.path, status, code as ErrorCode, entry] satisfies [string, string, string, Entry],
      ),
    ),
  )

  test.each(documented)('default: %s answers %s %s', async (...[, status, code, entry]) => {
    const response = await provoke(code, entry.path)
    expect(response.status).toBe(Number(status))
    await expectDocumented(document, entry, response)
  })

  test('behavior: every route of data says how it refuses and fails', () => {
    for (const { path, responses } of entries.filter((entry) => entry.path.startsWith('/v1/'))) {
      expect([path, ...Object.keys(responses)]).toEqual(
        expect.arrayContaining(['400', '404', '500']),
      )
    }
  })

  test('behavior: every example is a whole problem of its code', () => {
    for (const { responses } of entries) {
      for (const [status, { content }] of Object.entries(responses)) {
        const examples = content?.['application/problem+json']?.examples ?? {}
        for (const [code, { value }] of Object.entries(examples)) {
          expect(value).toMatchObject({ code, error: code, status: Number(status) })
        }
      }
    }
  })
})
