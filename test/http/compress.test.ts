import { expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'

import { compressAside } from '#src/http/data-response.ts'

test('behavior: large bodies are compressed few at a time, those of paying accounts first', async () => {
  const bytes = new Uint8Array(2_000_000).fill(97)
  const ended: string[] = []
  const compress = async (name: string, level: number) => {
    const packed = await compressAside(bytes, level)
    ended.push(name)
    expect(Bun.gunzipSync(packed)).toHaveLength(bytes.length)
  }
  const running = Math.max(1, availableParallelism() - 1)
  const first = Array.from({ length: running }, (_, at) => compress(`first ${at}`, 2))
  const guests = Array.from({ length: 4 }, (_, at) => compress(`guest ${at}`, 2))
  const paid = compress('paid', 0)
  await Promise.all([...first, ...guests, paid])
  expect(ended).toHaveLength(running + 5)
  // One at a time is begun before those of guests that came first.
  expect(ended.indexOf('paid')).toBeLessThan(ended.indexOf('guest 3'))
})
