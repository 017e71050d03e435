import { describe, expect, test } from 'bun:test'

import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'

import { createHarness } from '../support/harness.ts'
import { codesOf, type Entry, expectDocumented, readDocument } from '../support/openapi-document.ts'
import { readProblem } from '../support/page-client.ts'
import { ownerOf, provoke } from '../support/provoke.ts'
import { waysToFail } from '../support/ways-to-fail.ts'

const { send } = createHarness()
const { document, entries } = await readDocument(send)

/** A code that has no way to a caller of HTTP yet, and why. */
const unreachable: Partial<Record<ErrorCode, string>> = {
  market_conflict: 'Nothing is written over HTTP; `bookfeed import` reports it.',
}
/** Nothing stands behind these that could fail. */
const ofMemory: readonly string[] = ['listExports', 'createTestKey']

const codes = Object.keys(errorCodes) as ErrorCode[]

/** Failures that were provoked, each by a server of its own. */
const failures = new Map<string, Promise<{ text: string; init: ResponseInit }>>()

/** Provokes a code in an operation, once for all tests. */
async function failureOf(code: ErrorCode, entry = ownerOf(entries, code)): Promise<Response> {
  const name = `${code} ${entry.operationId}`
  const failure = failures.get(name) ?? readFailure(code, entry)
  failures.set(name, failure)
  const { text, init } = await failure
  return new Response(text, init)
}

async function readFailure(code: ErrorCode, entry: Entry) {
  const response = await provoke(code, entry)
  const { status, headers } = response
  return { text: await response.text(), init: { status, headers } }
}

describe('error codes', () => {
  test.each(codes)('default: %s is reachable, or said not to be', async (code) => {
    if (code in unreachable) return expect(waysToFail).not.toHaveProperty(code)
    const problem = await readProblem(await failureOf(code))
    expect([problem.code, problem.status]).toEqual([code, errorCodes[code].status])
    expect(problem.title).toBe(errorCodes[code].title)
  })

  test('behavior: the type of each is a section of the page it points to', async () => {
    const html = await (await send('/errors', { headers: { accept: 'text/html' } })).text()
    for (const code of codes) {
      if (code in unreachable) continue
      const { type } = await readProblem(await failureOf(code))
      expect(type).toBe(`/errors#${code}`)
      expect(html).toContain(`id="${code}"`)
    }
  })

  test('behavior: what says when to come back is 429 or 503, in header and body alike', async () => {
    for (const code of codes) {
      if (code in unreachable) continue
      const response = await failureOf(code)
      const { retryAfterSeconds } = await readProblem(response)
      const header = response.headers.get('retry-after')
      expect([code, header]).toEqual([code, retryAfterSeconds?.toString() ?? null])
      if (header !== null) expect([429, 503]).toContain(response.status)
    }
    const limited = await failureOf('rate_limited')
    expect(limited.headers.get('retry-after')).toBe('60')
  })

  test('error: a fault of ours says nothing of itself, on any route that has one', async () => {
    for (const entry of entries.filter(({ responses }) => '500' in responses)) {
      const response = await failureOf('internal', entry)
      const text = await response.text()
      expect([entry.operationId, response.status]).toEqual([entry.operationId, 500])
      expect(text).not.toMatch(/secret|disk|\.ts|\bat\b/)
    }
  })
})

describe('documented failures', () => {
  const documented = entries.flatMap((entry) =>
    codesOf(entry).map(([status, code]) => [entry.operationId, status, code, entry] as const),
  )

  test.each(documented)('default: %s answers %s %s', async (...[, status, code, entry]) => {
    const response = await failureOf(code, entry)
    const { code: answered } = (await response.clone().json()) as { code: string }
    expect([response.status, answered]).toEqual([Number(status), code])
    await expectDocumented(document, entry, response)
  })

  test('behavior: every route under /v1 says how it refuses and fails', () => {
    for (const entry of entries.filter(({ path }) => path.startsWith('/v1/'))) {
      const statuses = Object.keys(entry.responses)
      const ofKey = entry.security?.length === 0 ? [] : ['401', '451']
      const ofPlace = entry.path.includes('{') ? ['404'] : []
      const ofStore = ofMemory.includes(entry.operationId) ? [] : ['500']
      const expected = ['400', '429', '503', ...ofStore, ...ofKey, ...ofPlace]
      expect([entry.operationId, ...statuses]).toEqual(expect.arrayContaining(expected))
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
