import { afterEach, describe, expect, test } from 'bun:test'

import { readOperation } from '#src/features/stream/operation.ts'
import { operationSchemas } from '#src/features/stream/schema.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import official from '../../node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json'
import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createAjv, readStreamDocument } from '../support/asyncapi-document.ts'
import { append, closeAll, connect, putMarket, startLiveServer } from '../support/live-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const { document, faultsOf } = await readStreamDocument()

describe('GET /asyncapi.json', () => {
  test('default: is AsyncAPI 3.0 by the official schema', () => {
    const ajv = createAjv()
    const validate = ajv.compile(official)
    expect([validate(document), ajv.errorsText(validate.errors)]).toEqual([true, 'No errors'])
    expect(validate({ ...document, channels: { stream: { address: 5 } } })).toBe(false)
  })

  test('default: has every operation and message, and each reference resolves', () => {
    const { channels, operations, components } = document
    const received = Object.entries(operations).filter(([, { action }]) => action === 'receive')
    expect(received.map(([name]) => name)).toEqual(Object.keys(operationSchemas))
    expect(Object.keys(operations)).toEqual(Object.keys(channels.stream.messages))
    const text = JSON.stringify(document)
    for (const [, path = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      let found: unknown = document
      for (const part of path.split('/')) found = Object(found)[part]
      expect([path, typeof found]).toEqual([path, 'object'])
    }
    expect(Object.keys(components.schemas)).toContain('Trade')
  })

  test('behavior: what it says of operations is what is read', () => {
    const place = { coin: 'btc', id: 'a' }
    const sound = [
      { op: 'subscribe', channel: 'quotes', ...place },
      {
        op: 'replay',
        channel: 'prices',
        ...place,
        from: 1,
        to: '2026-01-01T00:00:00Z',
        speed: 0.5,
      },
      { op: 'seek', id: 'a', to: 1_776_153_610_000 },
      { op: 'heartbeat', seconds: 5 },
    ]
    for (const operation of sound) {
      expect(faultsOf(operation.op, operation)).toEqual([])
      expect(readOperation(JSON.stringify(operation)).op as string).toBe(operation.op)
    }
    const wrong = [
      { op: 'subscribe', channel: 'books', ...place },
      { op: 'replay', channel: 'prices', ...place },
      { op: 'heartbeat', seconds: 4 },
      { op: 'speed', id: 'a', speed: 1001 },
      { op: 'auth' },
    ]
    for (const operation of wrong) {
      expect(faultsOf(operation.op, operation)).not.toEqual([])
      expect(() => readOperation(JSON.stringify(operation))).toThrow()
    }
  })
})

describe('messages to GET /v1/stream', () => {
  test('fuzz: whatever is sent, every answer is documented and none is a fault of ours', async () => {
    const { url, key, history, advance } = startLiveServer()
    const random = createRandom('operations')
    await putMarket(history)
    await append(history, [aSnapshot()])
    const types = new Set<string>()
    for (let round = 0; round < 30; round++) {
      const client = connect(url, key)
      await client.untilType('authenticated')
      for (let count = 0; count < 60; count++) {
        const text = drawOperation(random, key)
        client.socket.send(random.integer(30) === 0 ? text.slice(1) : text)
        advance(50)
      }
      // Its answer comes after all others, or the connection is closed already.
      advance(1000)
      client.socket.send(JSON.stringify({ op: 'unsubscribe', id: 'last' }))
      await Promise.race([
        client.closed,
        until(() => client.messages.some(({ id }) => id === 'last')),
      ])
      client.socket.close()
      for (const { type } of client.messages) types.add(type)
      expect([1000, 1005, 4001, 4002]).toContain((await client.closed).code)
    }
    const seen = ['subscribed', 'unsubscribed', 'snapshot', 'replay_state']
    expect([...types]).toEqual(expect.arrayContaining([...seen, 'error']))
  }, 300_000)
})

/** The first of the values of a member is one that is mostly sound. */
const valuesOf = (key: string): Record<string, readonly unknown[]> => ({
  op: [...Object.keys(operationSchemas), 'dance', 5],
  id: ['a', 'b', '', '__proto__', 'x'.repeat(65), 7],
  channel: ['snapshots', 'quotes', 'prices', 'trades', 'spot', 'markets', 'books'],
  coin: ['btc', 'eth', 'BTC', null],
  conditionId: [conditionIdOf(1), conditionIdOf(1), conditionIdOf(2), 'x', '1'.repeat(78)],
  timeframe: ['5m', '7m'],
  outcome: ['up', 'sideways'],
  depth: [1, 0, 1.5],
  source: ['chainlink', 'a b'],
  window: [60, -1],
  with: ['spot', 'trades'],
  from: ['AQGd', START_MS, START_MS - 1e6, '2026-01-01T00:00:00Z', -1, {}],
  to: [START_MS + 1000, START_MS - 1, 'soon', 1e30],
  cursor: ['AQGd', ''],
  speed: [0, 1, 1000, 0.01, '1'],
  seconds: [5, 600, 1],
  onSlow: ['conflate', 'close', 'wait'],
  key: [key, key, '', 'Bearer x'],
})

/** Mostly what an operation takes, with mostly sound values. */
function drawOperation(random: Random, key: string): string {
  const values = valuesOf(key)
  const pick = (list: readonly unknown[] = []) => list[random.integer(list.length)]
  const op = pick(values.op)
  const schema = Object.entries(operationSchemas).find(([name]) => name === op)?.[1]
  const names = Object.keys((random.integer(8) && schema?.properties) || values)
  const isNeeded = (name: string) => schema?.required?.includes(name) ?? false
  const members = names
    .filter((name) => name !== 'op' && random.integer(10) < (isNeeded(name) ? 9 : 2))
    .map((name) => [name, random.integer(6) ? values[name]?.[0] : pick(values[name])])
  return JSON.stringify({ op, ...Object.fromEntries(members) })
}
