import { afterEach, describe, expect, jest, test } from 'bun:test'

import { createLogBuffer } from '#src/platform/log-buffer.ts'

describe('createLogBuffer', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  test('default: gathers lines for 100 ms', () => {
    jest.useFakeTimers()
    const writes: string[] = []
    const buffer = createLogBuffer((lines) => void writes.push(lines))
    buffer.write('a\n')
    buffer.write('b\n')
    jest.advanceTimersByTime(99)
    expect(writes).toEqual([])
    jest.advanceTimersByTime(1)
    expect(writes).toEqual(['a\nb\n'])
    buffer.write('c\n')
    jest.advanceTimersByTime(100)
    expect(writes).toEqual(['a\nb\n', 'c\n'])
  })

  test('behavior: writes at once when 64 KiB are gathered, and at flush', () => {
    const writes: string[] = []
    const buffer = createLogBuffer((lines) => void writes.push(lines))
    const line = `${'x'.repeat(32 * 1024 - 1)}\n`
    buffer.write(line)
    buffer.write(line)
    expect(writes).toEqual([line + line])
    buffer.write('rest\n')
    buffer.flush()
    buffer.flush()
    expect(writes.slice(1)).toEqual(['rest\n'])
  })
})
