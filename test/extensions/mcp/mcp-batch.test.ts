/** Messages of agents in one request: what they cost, and how large an answer may get. */
import { describe, expect, test } from 'bun:test'

import { createMessages } from '#src/extensions/mcp/messages.ts'

import { addKey, createHarness } from '../../support/harness.ts'
import { createMarketHistory } from '../../support/market-history.ts'

const known = await createMarketHistory()
const { conditionId } = known.both
const server = createHarness({ history: known.history })

type Reply = { id?: unknown; result?: Record<string, unknown>; error?: { message: string } }

async function post(body: unknown, key?: string) {
  const response = await server.sendAs(key, '/mcp', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })
  const text = await response.text()
  const replies = text.startsWith('event:')
    ? text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice('data: '.length)) as Reply)
    : ([JSON.parse(text || '[]')].flat() as Reply[])
  const remaining = Number(response.headers.get('x-ratelimit-remaining'))
  return { status: response.status, headers: response.headers, text, replies, remaining }
}

const message = (id: unknown, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})
const list = (id: unknown) => message(id, 'tools/list')
const call = (id: unknown, name: string, args: object) =>
  message(id, 'tools/call', { name, arguments: { coin: 'btc', ...args } })

describe('a batch of messages', () => {
  test('default: each message is answered under its id, and takes one from the window', async () => {
    const key = addKey(server.ledger, 'pro')
    const { remaining: before } = await post([list(0)], key)
    const market = { market: conditionId }
    const { status, headers, text, replies, remaining } = await post(
      [
        list(1),
        call('two', 'coverage', market),
        call(3, 'export_link', market),
        // Its arguments are wrong.
        call(4, 'quotes', {}),
        message(5, 'ping'),
        { jsonrpc: '2.0', method: 'notifications/initialized' },
      ],
      key,
    )
    expect([status, headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))])
    expect(replies.map(({ id }) => id)).toEqual([1, 'two', 3, 4, 5])
    expect(replies.every(({ result }) => result !== undefined)).toBe(true)
    expect(before - remaining).toBe(6)
  })

  test('error: an address without a key has as many as its window, and then each is refused', async () => {
    const fresh = createHarness({ history: known.history })
    const body = JSON.stringify(Array.from({ length: 6 }, (_, id) => list(id)))
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const ask = async () =>
      (await fresh.sendAs(undefined, '/mcp', { method: 'POST', body, headers })).text()
    const countOf = (text: string) => text.split('"inputSchema"').length - 1
    const first = countOf(await ask())
    expect(first % 6).toBe(0)
    const second = await ask()
    expect(countOf(second)).toBe((first / 6) * 4)
    expect(second.split('is used up').length - 1).toBe(2)
  })

  test('error: it has ten messages at most', async () => {
    const { status, replies } = await post(Array.from({ length: 11 }, (_, id) => list(id)))
    expect([status, replies[0]?.error?.message]).toEqual([400, expect.stringContaining('10')])
    expect((await post([])).status).toBe(400)
  })

  test('error: its answer is bounded, and what is beyond is refused by name', async () => {
    let answered = 0
    const answer = createMessages({
      async answerOne(_, asked) {
        answered++
        const { id } = asked as { id: number }
        const result = { id, result: 'x'.repeat(400_000) }
        return Response.json(result)
      },
      answerText: async () => new Response(null, { status: 400 }),
      charge: () => Promise.resolve(),
      countAsked: () => 0,
    })
    const body = JSON.stringify(Array.from({ length: 10 }, (_, id) => message(id, 'ping')))
    const response = await answer(new Request('http://localhost/mcp', { method: 'POST', body }))
    const replies = (await response.json()) as Reply[]
    expect(answered).toBe(3)
    expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, id) => id))
    for (const { error } of replies.slice(3))
      expect(error?.message).toContain('reached its maximum size')
    expect(Number(response.headers.get('content-length'))).toBeLessThan(1_500_000)
  })
})

describe('tools/list', () => {
  test.each([1, 'two', 'a "quoted" id', 0])('default: the same for every id: %p', async (id) => {
    const [first] = (await post(list('first'))).replies
    const { replies, headers, text } = await post(list(id))
    expect(replies).toEqual([{ ...first, id }])
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
  })

  test('behavior: what asks for more than the list is not answered from it', async () => {
    await post(list(1))
    const { replies } = await post(message(2, 'tools/list', { cursor: 'no such page' }))
    expect(replies[0]?.id).toBe(2)
    const { status } = await post({ ...list(3), jsonrpc: '1.0' })
    expect(status).toBe(400)
  })
})
