/**
 * Requests drawn from the OpenAPI document: of each parameter and member of a body what is valid,
 * at a bound, of another type, foreign or huge, and some that it does not have. Whatever is sent,
 * the answer is documented, whole, silent about the inside, and the same again wherever that is
 * promised.
 */
import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { readConfig } from '../support/config.ts'
import { textOf } from '../support/event-client.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { type Call, callsOf, type Ground } from '../support/fuzz-calls.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { type Entry, expectDocumented, readDocument } from '../support/openapi-document.ts'
import { idFor, linkOf, vouchForPayer } from '../support/operation-requests.ts'
import { createSigner } from '../support/signup-client.ts'
import { stableHeaders } from '../support/stable-headers.ts'

// biome-ignore lint/style/noProcessEnv: how much is drawn is not for the product's settings.
const { FUZZ_RUNS = '100' } = process.env
const RUNS = Number(FUZZ_RUNS)
const SIGNUPS = 40

const { history, both, edge, empty, open, single } = await createMarketHistory()
const config = readConfig({
  BOOKFEED_KEYS_PER_ACCOUNT: '1000',
  BOOKFEED_SIGNUPS_PER_DAY: '1000000',
  BOOKFEED_KEYLESS: 'on',
})
const server = createHarness({ history, config, billing: fakeBilling() })
const { send } = server
await vouchForPayer(server.ledger)
const { document, entries } = await readDocument(send)
const signups = await Promise.all(
  Array.from({ length: SIGNUPS }, () => createSigner(send).signed()),
)
const known = [both, edge, empty, open, single]

const realCursors = await Promise.all(
  known.map(
    async ({ path }) => (await send(`${path}?limit=1`)).headers.get('x-resume-cursor') ?? '',
  ),
)

const ground: Ground = {
  markets: known,
  cursors: realCursors,
  timesMs: both.rows.slice(0, 3).map(({ timestampMs }) => timestampMs),
  signups,
}

/** Stacks, paths of files, SQL and the names of what we are built from. */
const inside =
  /\n\s+at |node_modules|\/work\/|\/src\/|\.ts:\d|sqlite|SELECT |INSERT |\bElysia\b|TypeError/

/** Makes a call ready to be sent, twice. */
function toRequest(entry: Entry, { path, query, headers: more, name, body }: Call) {
  const sent = new Headers({ ...more, 'x-request-id': 'fuzz' })
  if (name !== undefined) sent.set('idempotency-key', name)
  if (body?.contentType !== undefined) sent.set('content-type', body.contentType)
  const address = path
    .replace('{id}', () => idFor(server, entry))
    .replace('{link}', () => linkOf(server, server.key, 'btc'))
  const init = { method: entry.method, headers: sent, ...(body ? { body: body.bytes } : {}) }
  return { path: query === '' ? address : `${address}?${query}`, init }
}

/** Failures are, and what reads or ends something; what makes something is, under the same name. */
function isRepeatable({ method, operationId, parameters = [] }: Entry, call: Call, status: number) {
  if (status >= 400) return true
  // It reports how often it was asked.
  if (operationId === 'getUsage') return false
  const isNamed = call.name !== undefined && parameters.some((each) => each.in === 'header')
  return method === 'GET' || method === 'DELETE' || isNamed
}

/** Each challenge has a message of its own to sign. */
const withoutNonce = (body: Uint8Array): string =>
  new TextDecoder().decode(body).replace(/"nonce":"[0-9a-f]{64}"/, '')

async function expectAlike(again: Response, response: Response, body: Uint8Array): Promise<void> {
  const replayed = ['idempotent-replayed', ...(again.status === 402 ? ['payment-required'] : [])]
  expect(again.status).toBe(response.status)
  if (again.status === 402) expect(withoutNonce(await again.bytes())).toBe(withoutNonce(body))
  else expect(await again.bytes()).toEqual(body)
  expect(stableHeaders(again, replayed)).toEqual(stableHeaders(response, replayed))
}

function expectSilent(text: string): void {
  expect(text).not.toMatch(inside)
  expect(text.length).toBeLessThan(1_000)
}

describe('any request drawn from the document', () => {
  for (const entry of entries) {
    const success = Number(Object.keys(entry.responses).find((status) => status.startsWith('2')))
    test(`fuzz: ${entry.method} ${entry.path} answers as documented, twice alike`, async () => {
      const statuses = new Set<number>()
      const property = fc.asyncProperty(callsOf(ground, entry), async (call) => {
        const { path, init } = toRequest(entry, call)
        const response = await send(path, init)
        const { status } = response
        statuses.add(status)
        expect(status).toBeLessThan(500)
        const body = await response.bytes()
        const again = await send(path, init)
        if (isRepeatable(entry, call, status)) await expectAlike(again, response, body)
        if (status >= 400 && status !== 402) expectSilent(new TextDecoder().decode(body))
        await expectDocumented(document, entry, inflate(response, body))
      })
      await fc.assert(property, { numRuns: RUNS, seed: 20_260_414 })
      // A draw that is refused each time would prove nothing.
      expect(statuses).toContain(success)
    })
  }
})

/** The response with its body as it was before `Content-Encoding`. */
function inflate({ status, headers: sent }: Response, body: Uint8Array): Response {
  if (status === 304 || status === 204) return new Response(null, { status, headers: sent })
  return new Response(textOf(sent, Uint8Array.from(body)), { status, headers: sent })
}
