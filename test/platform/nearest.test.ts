import { describe, expect, test } from 'bun:test'

import { countEdits, nearestName } from '#src/platform/nearest.ts'

describe('countEdits', () => {
  test.each([
    ['', '', 0],
    ['port', 'port', 0],
    ['prot', 'port', 1],
    ['port', 'ports', 1],
    ['sport', 'port', 1],
    ['part', 'port', 1],
    ['kitten', 'sitting', 3],
    ['', 'abc', 3],
  ])('default: %p and %p are %d apart, both ways', (from, to, edits) => {
    expect([countEdits(from, to), countEdits(to, from)]).toEqual([edits, edits])
  })
})

describe('nearestName', () => {
  test('default: the nearest of several', () => {
    expect(nearestName('srve', ['prune', 'serve', 'verify'])).toBe('serve')
    expect(nearestName('BOOKFEED_PROT', ['BOOKFEED_HOST', 'BOOKFEED_PORT'])).toBe('BOOKFEED_PORT')
  })

  test('behavior: none where all differ too much, or there is none', () => {
    expect(nearestName('nosuch', ['serve', 'verify'])).toBeUndefined()
    expect(nearestName('serve', [])).toBeUndefined()
  })
})
