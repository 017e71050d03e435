import { describe, expect, test } from 'bun:test'

import { operationSchemas } from '#src/modules/stream/model.ts'
import { readOperation } from '#src/modules/stream/operation.ts'

import official from '../../node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json'
import { createAjv, readStreamDocument } from '../support/asyncapi-document.ts'

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
