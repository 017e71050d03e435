import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { type Params, readProblem } from '../support/page-client.ts'
import { PANEL_PATH, readPanel, refusalOf } from '../support/panel-client.ts'

describe('what a panel refuses', () => {
  const { send } = createHarness({ history: openHistory(':memory:') })

  test.each([
    '60s',
    '+60s',
    '-60',
    '-1.5s',
    '-060s',
    '-1e2s',
    '--60s',
    '-60S',
    '-60s,',
    ',-60s',
    '-60s, -5s',
    '-1d',
    '-9999999999ms',
    'close',
  ])('error: an offset like %p, naming the item', async (offsets) => {
    const problem = await refusalOf(send, { offsets })
    expect(problem).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'offsets' })
    const item = offsets.split(',').find((text) => !/^-(60|5)s$/.test(text)) ?? ''
    expect(problem.detail).toContain(`"${item}"`)
  })

  test('error: an offset before the window, and the length of the window is one within', async () => {
    const problem = await refusalOf(send, { offsets: '-5s,-300001ms' })
    expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'offsets' })
    expect(problem.detail).toContain('"-300001ms"')
    expect(problem.detail).toContain('5m')
    await readPanel(send, { offsets: '-5m' })
    await readPanel(send, { timeframe: '4h', offsets: '-4h' })
  })

  test('error: a moment that is repeated, also in another spelling', async () => {
    for (const offsets of ['-5s,-60s,-5s', '-60s,-1m', '-0s,-0ms']) {
      const problem = await refusalOf(send, { offsets })
      expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'offsets' })
      expect(problem.detail).toContain('repeats')
    }
  })

  test('error: more than 8 offsets', async () => {
    const offsets = (count: number) => Array.from({ length: count }, (_, at) => `-${at}s`).join(',')
    await readPanel(send, { offsets: offsets(8) })
    const problem = await refusalOf(send, { offsets: offsets(9) })
    expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'offsets' })
  })

  test.each([
    ['timeframe', { timeframe: '7m' }],
    ['offsets', { offsets: '' }],
    ['to', { from: 5_000, to: 5_000 }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 501 }],
    ['maxAgeMs', { maxAgeMs: -1 }],
    ['cursor', { cursor: '' }],
    ['outcome', { outcome: 'up' }],
  ])('error: %p of %p', async (param, params) => {
    expect(await refusalOf(send, params as Params)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param,
    })
  })

  test('error: without timeframe or offsets', async () => {
    for (const [param, query] of [
      ['timeframe', '?offsets=-5s'],
      ['offsets', '?timeframe=5m'],
    ]) {
      expect(await readProblem(await send(PANEL_PATH + query))).toMatchObject({
        status: 400,
        param,
      })
    }
  })

  test('error: a cursor of another panel, and one that is none', async () => {
    const { headers } = await readPanel(send, { offsets: '-60s,-5s', from: 1_000 })
    const cursor = headers.get('x-resume-cursor') ?? ''
    const same = { offsets: '-60s,-5s', from: 1_000, cursor }
    await readPanel(send, { ...same, limit: 7 })
    const others: Params[] = [
      { ...same, offsets: '-5s,-60s' },
      { ...same, from: 1_001 },
      { ...same, to: 5_000 },
      { ...same, maxAgeMs: 5 },
      { ...same, timeframe: '15m' },
    ]
    for (const params of others) {
      expect(await refusalOf(send, params)).toMatchObject({ status: 400, code: 'cursor_mismatch' })
    }
    expect(await refusalOf(send, { ...same, cursor: 'x' })).toMatchObject({
      code: 'cursor_invalid',
    })
  })
})
