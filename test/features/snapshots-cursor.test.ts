import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory, rowsAt } from '../support/market-history.ts'
import {
  type Params,
  readPage,
  readProblem,
  type Send,
  withParams,
} from '../support/page-client.ts'

const { history, both, single, open } = await createMarketHistory()
const { send } = createHarness({ history })
const fromMs = both.rows[10]?.timestampMs ?? 0
const toMs = both.rows[300]?.timestampMs ?? 0
const query = { from: fromMs, to: toMs, outcome: 'up', order: 'asc' }
const { body } = await readPage(send, both.path, { ...query, limit: 10 })
const cursor = body.nextCursor ?? ''

/** Sends the query of `cursor` with another one, exactly as it is written. */
const sendRaw = (text: string) =>
  send(`${withParams(both.path, { ...query, limit: 10 })}&cursor=${text}`)

async function expectInvalid(text: string) {
  const { status, code, param } = await readProblem(await sendRaw(text))
  expect([text, status, code, param]).toEqual([text, 400, 'cursor_invalid', 'cursor'])
}

const flipBit = (bytes: Uint8Array, bit: number): Uint8Array =>
  bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))

const idsOf = async (sender: Send, path: string, params: Params) =>
  (await readPage(sender, path, params)).body.data.map(({ id }) => id)

describe('cursor', () => {
  test('default: is short, safe in an address, and goes on right behind the page', async () => {
    expect(cursor).toMatch(/^[\w-]{1,100}$/)
    const ten = await idsOf(send, both.path, { ...query, limit: 10, cursor })
    const twenty = await idsOf(send, both.path, { ...query, limit: 20 })
    expect([...body.data.map(({ id }) => id), ...ten]).toEqual(twenty)
  })

  test('behavior: may be percent-encoded, and may stand anywhere in the query', async () => {
    const encoded = Array.from(cursor, (char) => `%${char.charCodeAt(0).toString(16)}`).join('')
    const plain = await (await sendRaw(cursor)).text()
    expect(await (await sendRaw(encoded)).text()).toBe(plain)
    const params = withParams(both.path, { cursor, limit: 10, ...query })
    expect(await (await send(params)).text()).toBe(plain)
  })

  test('behavior: limit may change, and a bound may change its unit but not its moment', async () => {
    const from = Math.ceil(fromMs / 1000)
    const to = Math.floor(toMs / 1000)
    const page = await readPage(send, both.path, { from, to, limit: 7 })
    const params = { from: from * 1000, to: to * 1000, cursor: page.resumeCursor }
    const next = await idsOf(send, both.path, { ...params, limit: 5 })
    expect([...page.body.data.map(({ id }) => id), ...next]).toEqual(
      await idsOf(send, both.path, { from, to, limit: 12 }),
    )
  })

  test('behavior: order=asc is the same filter as none', async () => {
    const { body: first } = await readPage(send, both.path, { limit: 3 })
    const params = { limit: 3, order: 'asc', cursor: first.nextCursor ?? '' }
    expect((await readPage(send, both.path, params)).body.data).toHaveLength(3)
  })

  test.each<[string, Record<string, string | number>]>([
    ['outcome', { ...query, outcome: 'down' }],
    ['no outcome', { from: fromMs, to: toMs }],
    ['from', { ...query, from: fromMs + 1 }],
    ['no from', { to: toMs, outcome: 'up' }],
    ['from 0', { ...query, from: 0 }],
    ['to', { ...query, to: toMs - 1 }],
    ['no to', { from: fromMs, outcome: 'up' }],
    ['order', { ...query, order: 'desc' }],
    ['no filter', {}],
  ])('error: with another filter (%s) it is a mismatch', async (_, params) => {
    const response = await send(withParams(both.path, { ...params, cursor }))
    const { status, code, param } = await readProblem(response)
    expect([status, code, param]).toEqual([400, 'cursor_mismatch', 'cursor'])
  })

  test('error: of another market or route it is a mismatch', async () => {
    const { body: plain } = await readPage(send, both.path)
    const { body: list } = await readPage(send, '/v1/btc/markets', { limit: 1 })
    const cases: [string, string | null][] = [
      [single.path, plain.nextCursor],
      [open.path, plain.nextCursor],
      ['/v1/btc/markets', plain.nextCursor],
      [both.path, list.nextCursor],
    ]
    for (const [path, other] of cases) {
      const problem = await readProblem(await send(withParams(path, { cursor: other ?? '' })))
      expect([path, problem.code]).toEqual([path, 'cursor_mismatch'])
    }
  })

  test('error: cut short anywhere it is invalid', async () => {
    for (let length = 1; length < cursor.length; length++) {
      await expectInvalid(cursor.slice(0, length))
      await expectInvalid(cursor.slice(length))
    }
  })

  test('error: with any single bit of it flipped it is invalid', async () => {
    const bytes = Buffer.from(cursor, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      await expectInvalid(Buffer.from(flipBit(bytes, bit)).toString('base64url'))
    }
  })

  test('error: with any single bit of its text flipped it is invalid', async () => {
    const text = Buffer.from(cursor)
    for (let bit = 0; bit < text.length * 8; bit++) {
      const flipped = Buffer.from(flipBit(text, bit)).toString('latin1')
      await expectInvalid(encodeURIComponent(flipped))
    }
  })

  test('error: with characters added, padded or in another alphabet it is invalid', async () => {
    const edits = ['=', '==', '.', '%0A', '%20', '+', '%00', 'A', 'AAAA', '%F0%9F%92%A9']
    for (const edit of edits) {
      await expectInvalid(cursor + edit)
      await expectInvalid(edit + cursor)
    }
    await expectInvalid(Buffer.from(cursor, 'base64url').toString('hex'))
    await expectInvalid(cursor + cursor)
    await expectInvalid(cursor.padEnd(10_240, 'A'))
    await expectInvalid('A'.repeat(10_240))
    for (const text of ['null', 'undefined', '0', 'x', '%22%22', '1767225600000']) {
      await expectInvalid(text)
    }
  })

  test('error: of another version it is invalid, though sealed with our key', async () => {
    const sealed = Buffer.from(cursor, 'base64url').subarray(0, -16)
    const seal = (version: number) => {
      const changed = Buffer.concat([Uint8Array.of(version), sealed.subarray(1)])
      const tag = createHmac('sha256', history.cursorKey).update(changed).digest().subarray(0, 16)
      return Buffer.concat([changed, tag]).toString('base64url')
    }
    expect(seal(1)).toBe(cursor)
    for (const version of [0, 2, 255]) await expectInvalid(seal(version))
  })

  test('error: of another server with the same history it is invalid', async () => {
    const other = await createMarketHistory()
    const { send: sendOther } = createHarness({ history: other.history })
    const { body: foreign } = await readPage(sendOther, both.path, { ...query, limit: 10 })
    expect(foreign.data).toEqual(body.data)
    await expectInvalid(foreign.nextCursor ?? '')
  })
})

describe('X-Resume-Cursor', () => {
  test('default: is on every page, full, last or empty, and is nextCursor where that is one', async () => {
    for (const params of [{ limit: 10 }, { limit: 1000 }, { to: 0 }, { order: 'desc' }]) {
      const page = await readPage(send, both.path, params)
      expect(page.resumeCursor).toMatch(/^[\w-]+$/)
      if (page.body.nextCursor !== null) expect(page.body.nextCursor).toBe(page.resumeCursor)
      const next = await readPage(send, both.path, { ...params, cursor: page.resumeCursor })
      if (page.body.nextCursor === null) expect(next.body.data).toEqual([])
    }
  })

  test.each<[string, Params]>([
    ['no filter', {}],
    ['a bound far ahead', { to: 99_999_999_999 }],
    ['one outcome', { outcome: 'down' }],
  ])('behavior: with %s it follows an open market from its empty beginning', async (_, params) => {
    const { history: live, empty, open: model } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const template = model.rows.slice(0, 2).map((row) => ({
      ...row,
      coin: empty.coin,
      conditionId: empty.conditionId,
    }))
    let { resumeCursor } = await readPage(sendLive, empty.path, params)
    const seen: string[] = []
    for (let step = 0; step < 120; step++) {
      const timestampMs = 1_767_225_600_000 + Math.floor(step / 3)
      await appendRows(
        live,
        empty,
        template.map((row) => ({ ...row, timestampMs: timestampMs + step })),
      )
      const page = await readPage(sendLive, empty.path, { ...params, cursor: resumeCursor })
      const wanted = 'outcome' in params ? 1 : 2
      expect([step, page.body.data.length, page.body.nextCursor]).toEqual([step, wanted, null])
      seen.push(...page.body.data.map(({ id }) => id))
      resumeCursor = page.resumeCursor
    }
    expect(seen).toEqual(await idsOf(sendLive, empty.path, { ...params, limit: 1000 }))
  })

  test('behavior: rows of the same moment that come later are not lost', async () => {
    const { history: live, open: market } = await createMarketHistory()
    const { send: sendLive } = createHarness({ history: live })
    const { resumeCursor } = await readPage(sendLive, market.path, { limit: 1000 })
    const lastMs = market.rows.at(-1)?.timestampMs ?? 0
    // A feed numbers its states of one moment.
    const rows = rowsAt(market, [lastMs, lastMs, lastMs + 1])
    await appendRows(
      live,
      market,
      rows.map((row, index) => ({ ...row, sequence: (index + 1) % 3 })),
    )
    const next = await readPage(sendLive, market.path, { cursor: resumeCursor })
    expect(next.body.data).toHaveLength(3)
  })

  test('behavior: a restart keeps cursors valid', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-cursor-'))
    try {
      const first = await createMarketHistory(openHistory(join(folder, 'history.db')))
      const { send: before } = createHarness({ history: first.history })
      const page = await readPage(before, first.both.path, { limit: 10 })
      const list = await readPage(before, '/v1/btc/markets', { limit: 1 })
      first.history.dispose()
      const again = openHistory(join(folder, 'history.db'))
      const { send: after } = createHarness({ history: again })
      const next = { limit: 10, cursor: page.resumeCursor }
      const joined = [
        ...page.body.data,
        ...(await readPage(after, first.both.path, next)).body.data,
      ]
      expect(joined).toEqual((await readPage(after, first.both.path, { limit: 20 })).body.data)
      const markets = { limit: 1, cursor: list.body.nextCursor ?? '' }
      expect((await readPage(after, '/v1/btc/markets', markets)).body.data).toHaveLength(1)
      again.dispose()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
