/**
 * Bodies as deep as their bound allows, to every operation that takes
 * one: refused before they are read.
 */
import { afterAll, afterEach, describe, expect, spyOn, test } from 'bun:test'

import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readDocument } from '../support/openapi-document.ts'
import { fillPath, idFor } from '../support/operation-requests.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson } from '../support/signup-client.ts'

const DEEP = 32_700

const { history, both } = await createMarketHistory()
const server = createHarness({ history, billing: fakeBilling() })
const { entries } = await readDocument(server.send)
const posts = entries
  .filter(({ requestBody }) => requestBody !== undefined)
  .map((entry) => [entry.operationId, entry] as const)

const parse = spyOn(JSON, 'parse')
const print = spyOn(JSON, 'stringify')
afterEach(() => {
  parse.mockClear()
  print.mockClear()
})
afterAll(() => {
  parse.mockRestore()
  print.mockRestore()
})

/** Levels of a value, without recursion. */
function depthOf(value: unknown): number {
  let depth = 0
  for (let level: unknown[] = [value]; level.length > 0; depth++) {
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each) : [],
    )
  }
  return depth
}

describe('bodies of 64 kB, 32,700 levels deep', () => {
  test('default: there are operations that take bodies', () => {
    expect(posts.length).toBeGreaterThan(5)
  })

  for (const [operationId, entry] of posts) {
    const [name = ''] = Object.keys(
      entry.requestBody?.content['application/json'].schema.properties ?? {},
    )
    const path = async () =>
      fillPath(entry.path, {
        coin: both.coin,
        conditionId: both.conditionId,
        id: await idFor(server, entry, server.key),
      })

    test.each([
      ['closed', `{"${name}":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`],
      ['open', `{"${name}":${'['.repeat(2 * DEEP)}`],
    ])(`error: ${operationId}, %s`, async (_, body) => {
      const response = await server.send(await path(), {
        ...asJson({}),
        method: entry.method,
        body,
      })
      const problem = await readProblem(response)
      expect([problem.code, problem.detail]).toEqual([
        'invalid_request',
        'The body is nested more than 16 levels deep.',
      ])
      // What took seconds: neither is done to the body, or to what was made of it.
      expect(parse.mock.calls.every(([text]) => text.length < 10_000)).toBeTrue()
      expect(print.mock.calls.every(([value]) => depthOf(value) < 10)).toBeTrue()
    })
  }

  test('error: the payment header is no other way in', async () => {
    const deep = '['.repeat(6_000)
    const payment = btoa(`{"payload":${deep}${']'.repeat(6_000)}}`)
    const response = await server.send('/v1/billing/x402/settle', {
      method: 'POST',
      headers: { 'payment-signature': payment },
    })
    const problem = await readProblem(response)
    expect(problem.code).toBe('payment_invalid')
    expect(problem.detail).toContain('nested more than 16 levels deep')
    expect(parse).not.toHaveBeenCalled()
  })
})
