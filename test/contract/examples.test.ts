/** The examples of the API document, as they are, at a server that was started for the first time. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createCommandLine } from '../support/command-line.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { type Entry, readDocument } from '../support/openapi-document.ts'

/** What no example can do on a fresh start, and why. */
const skipped: Record<string, string> = {
  createChallenge: 'signup is closed until the operator configures screening',
  createKey: 'needs a message that a wallet signed',
  rotateKey: 'changes a key that is made up',
  labelKey: 'changes a key that is made up',
  revokeKey: 'changes a key that is made up',
  createQuote: 'nothing is sold until the operator configures it',
  settlePayment: 'nothing is sold until the operator configures it',
  getPayment: 'nothing is sold until the operator configures it',
  listPayments: 'nothing is sold until the operator configures it',
  buyPack: 'nothing is sold until the operator configures it',
  getLinkedFile: 'a link is made for one key, and ends',
  buyTier: 'nothing is sold until the operator configures it',
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-api-examples-'))
let server: KillableServer
let key = ''
let entries: readonly Entry[] = []
const ask = (path: string, init: RequestInit = {}): Promise<Response> => {
  const headers = new Headers(init.headers)
  headers.set('authorization', `Bearer ${key}`)
  return fetch(server.origin + path, { ...init, headers })
}

beforeAll(async () => {
  const env = { BOOKFEED_DATA: folder, BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' }
  server = await startKillableServer(env)
  using line = createCommandLine({ BOOKFEED_DATA: folder })
  const made = await line.run('keys', 'create', '--tier', 'enterprise', '--label', 'examples')
  key = made.printed[0] ?? ''
  entries = (await readDocument(ask)).entries
}, 300_000)
afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true })
})

/** As the page of the document fills them in: every example that there is. */
function requestOf({ path, method, parameters = [], requestBody }: Entry) {
  const query = new URLSearchParams()
  let place = path
  for (const { name, in: where, example, required } of parameters) {
    if (example === undefined) {
      if (required === true) throw new Error(`${path} has no example of \`${name}\`.`)
      continue
    }
    if (where === 'path') place = place.replace(`{${name}}`, encodeURIComponent(String(example)))
    if (where === 'query') query.set(name, String(example))
  }
  const shown = requestBody?.content['application/json'].example
  const body =
    shown === undefined
      ? {}
      : { body: JSON.stringify(shown), headers: { 'content-type': 'application/json' } }
  return { address: query.size > 0 ? `${place}?${query}` : place, init: { method, ...body } }
}

describe('the examples of the API document on a fresh start', () => {
  test('default: each answers 2xx as it is', async () => {
    const failed: string[] = []
    for (const entry of entries) {
      if (entry.operationId in skipped) continue
      const { address, init } = requestOf(entry)
      const ended = new AbortController()
      const answer = await ask(address, { ...init, signal: ended.signal })
      if (!answer.ok) failed.push(`${entry.operationId} ${address}: ${await answer.text()}`)
      // Events have no end.
      ended.abort()
    }
    expect(failed).toEqual([])
  }, 300_000)

  test('behavior: what is left out exists, and is none of data but a link', () => {
    for (const operationId of Object.keys(skipped)) {
      const entry = entries.find((each) => each.operationId === operationId)
      expect([operationId, entry?.path]).toEqual([
        operationId,
        expect.stringMatching(/^\/v1\/(keys|billing|{coin}\/links)/),
      ])
    }
  })
})
