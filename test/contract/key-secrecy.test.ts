/**
 * A key is shown once, in the answer that makes it. Everything else that leaves the server is
 * searched for keys here: the log, every response, the files. Keys are also sent where they do not
 * belong.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { digestOf, KEY_PREFIX } from '#src/domain/selling/api-key.ts'
import { openLedger } from '#src/ledger/open.ts'

import { askCell, cellsOf, createMatrix, type Matrix } from '../support/access-matrix.ts'
import { NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readDocument } from '../support/openapi-document.ts'
import { idOf } from '../support/operation-requests.ts'
import { asJson, createSigner } from '../support/signup-client.ts'

/** Random characters of a key, without its checksum. */
const RANDOM_LENGTH = 27
const MINUTE_MS = 60_000

type Trace = { place: string; text: string }

const { history, both } = await createMarketHistory()
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-secrecy-'))
const traces: Trace[] = []
const secrets = new Set<string>()
/** What names keys without being one. */
const ids = new Set<string>()
let matrix: Matrix

/** Keeps what was answered; a new key is taken out of it and becomes a secret. */
async function keep(place: string, response: Response): Promise<void> {
  const head = JSON.stringify([...response.headers])
  const text = await response.text()
  if (response.status !== 201) return void traces.push({ place, text: head + text })
  const { key, ...rest } = JSON.parse(text) as { key: string }
  secrets.add(key)
  traces.push({ place, text: head + JSON.stringify(rest) })
}

async function walkMatrix(): Promise<void> {
  const { entries } = await readDocument(matrix.send)
  for (const { token, standing } of matrix.callers) {
    if (token !== undefined) secrets.add(token)
    if (token !== undefined && standing !== 'stranger') ids.add(idOf(matrix.ledger, token))
  }
  secrets.add(matrix.key)
  for (const cell of entries.flatMap((entry) => cellsOf(matrix, entry, ['btc', 'sol']))) {
    const place = `${cell.method} ${cell.entry.path} as ${cell.caller.kind}`
    await keep(place, await askCell(matrix, cell, both))
  }
}

/** Signs up, replaces and revokes, each sent twice under one name, as after a lost answer. */
async function liveWithKeys(): Promise<void> {
  matrix.advance(MINUTE_MS)
  const { send } = matrix
  const once = { 'idempotency-key': 'once' }
  const signup = asJson(await createSigner(send).signed({ label: 'mine' }), once)
  const made = (await (await send('/v1/keys', signup)).json()) as { key: string; id: string }
  const as = (path: string, init?: RequestInit) => matrix.sendAs(made.key, path, init)
  await keep('signup', await send('/v1/keys', signup))
  for (const round of ['first', 'second']) {
    const rotation = asJson({ overlapSeconds: 60 }, once)
    await keep(`${round} rotation`, await as(`/v1/keys/${made.id}/rotate`, rotation))
    await keep(`${round} list`, await as('/v1/keys'))
    await keep(`${round} usage`, await as('/v1/usage'))
  }
  await keep('revocation', await as(`/v1/keys/${made.id}`, { method: 'DELETE' }))
  expect(secrets).toContain(made.key)
}

/** Requests with a key where it does not belong. */
function misplaced(key: string, id: string): [path: string, init: RequestInit][] {
  const paths = [
    `/${key}`,
    `/v1/${key}`,
    `/v1/${key}/markets`,
    `/v1/btc/markets/${key}`,
    `//${key}@x/`,
    ...['cursor', 'limit', 'key', 'api_key', 'access_token'].map(
      (name) => `/v1/btc/markets?${name}=${key}`,
    ),
    `/v1/btc/markets?${key}=1`,
    `/v1/btc/markets?${key}`,
    `/healthz?${key}`,
    `/%zz/${key}`,
    `${both.path}?outcome=${key}&from=${key}`,
    `/v1/btc/markets?x=${'a'.repeat(2_000)}&key=${key}`,
    `/v1/keys/${key}/rotate`,
  ]
  const headers = [
    'x-request-id',
    'idempotency-key',
    'x-forwarded-for',
    'forwarded',
    'user-agent',
    'cookie',
    'referer',
    'origin',
    'accept',
    'accept-encoding',
    'if-none-match',
    'x-api-key',
  ]
  const schemes = [key, `Basic ${key}`, `Bearer ${key} ${key}`, `Bearer ${key}x`, `Token ${key}`]
  const bodies = [
    { address: key },
    { [key]: 1 },
    { message: key, signature: '0x00' },
    { message: 'x', signature: key },
    { overlapSeconds: key },
    { overlapSeconds: 1, [key]: key },
    { label: { [key]: key } },
  ]
  const posts = ['/v1/keys/challenge', '/v1/keys', `/v1/keys/${id}/rotate`]
  return [
    ...paths.flatMap((path): [string, RequestInit][] =>
      ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'].map((method) => [path, { method }]),
    ),
    ...headers.map((name): [string, RequestInit] => [both.path, { headers: { [name]: key } }]),
    ...schemes.map((text): [string, RequestInit] => [
      '/v1/keys',
      { headers: { authorization: text } },
    ]),
    ...posts.flatMap((path): [string, RequestInit][] => [
      ...bodies.map((body): [string, RequestInit] => [path, asJson(body)]),
      [path, { ...asJson({}), body: key }],
      [path, asJson({}, { 'content-type': key })],
      [path, asJson({ label: 'x'.repeat(70) }, { 'idempotency-key': key })],
    ]),
    [`/v1/keys/${id}/rotate`, asJson({}, { 'idempotency-key': key, 'x-request-id': key })],
  ]
}

async function misplaceKeys(): Promise<void> {
  const pro = matrix.callers.find(({ kind }) => kind === 'pro')?.token ?? ''
  for (const token of [pro, undefined]) {
    for (const [path, init] of misplaced(pro, idOf(matrix.ledger, pro))) {
      matrix.advance(MINUTE_MS)
      await keep(`${init.method ?? 'GET'} ${path}`, await matrix.sendAs(token, path, init))
    }
  }
}

/**
 * What of each secret must be nowhere: all of it, and its random part with and without checksum.
 */
const partsOf = (key: string): string[] => {
  const random = key.slice(KEY_PREFIX.length)
  return [key, random, random.slice(0, RANDOM_LENGTH)]
}
const parts = () => [...secrets].flatMap(partsOf)

const filesOf = (): [name: string, bytes: Buffer][] =>
  readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))])

beforeAll(async () => {
  const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
  matrix = createMatrix({ history, ledger })
  await walkMatrix()
  await liveWithKeys()
  await misplaceKeys()
  await matrix.app.flushUsage()
})

afterAll(() => rmSync(folder, { recursive: true }))

describe('keys', () => {
  test('default: are in no response, but for the one that makes them', () => {
    expect(traces.length).toBeGreaterThan(500)
    for (const { place, text } of traces) {
      expect([place, ...parts().filter((part) => text.includes(part))]).toEqual([place])
    }
  })

  test('default: are in no line of the log, which has one for every request', () => {
    const log = matrix.lines.join('')
    expect(matrix.lines.length).toBeGreaterThan(traces.length)
    expect(parts().filter((part) => log.includes(part))).toEqual([])
    expect([...ids].filter((id) => !log.includes(id))).toEqual([])
    expect(ids.size).toBeGreaterThan(3)
  })

  test('default: are in no byte of the ledger, while it is open and when it is closed', () => {
    const search = () => {
      const files = filesOf()
      expect(files.map(([name]) => name)).toContain('ledger.db')
      const found = files.flatMap(([name, bytes]) =>
        parts().flatMap((part) => (bytes.includes(part) ? [`${name}: ${part}`] : [])),
      )
      expect(found).toEqual([])
      // The search would have found them: their digests are there.
      const bytes = Buffer.concat(files.map(([, each]) => each))
      expect(bytes.includes(digestOf(matrix.key))).toBe(true)
    }
    search()
    matrix.ledger.dispose()
    search()
  })

  test('error: a key cannot be the label of a key', async () => {
    const { send, key, ledger } = createMatrix({ history })
    const body = asJson({ label: `my ${key}` })
    const response = await send(`/v1/keys/${idOf(ledger, key)}/rotate`, body)
    expect(response.status).toBe(400)
    expect(await response.text()).not.toContain(key)
  })
})
