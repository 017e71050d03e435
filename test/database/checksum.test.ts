import { describe, expect, test } from 'bun:test'

import { checksumOf } from '#src/database/checksum.ts'

describe('checksumOf', () => {
  const row = { id: 1, name: 'a', size: null, checksum: 0 }

  test('default: is of every value and its place, but not of the checksum', () => {
    expect(checksumOf({ ...row, checksum: 7 })).toBe(checksumOf(row))
    for (const change of [{ id: 2 }, { name: 'b' }, { name: null, size: 'a' }, { size: 0 }])
      expect(checksumOf({ ...row, ...change })).not.toBe(checksumOf(row))
  })

  test('behavior: columns that were added behind the checksum count once they have a value', () => {
    const { checksum, ...before } = row
    expect(checksumOf({ ...row, rule: null, source: null })).toBe(checksumOf(before))
    const added = [
      { rule: null, source: null },
      { rule: 'x', source: null },
      { rule: null, source: 'x' },
      { rule: 'x', source: 'x' },
    ]
    const sums = added.map((each) => checksumOf({ ...row, ...each }))
    expect(new Set(sums).size).toBe(4)
    expect(checksum).toBe(0)
  })
})
