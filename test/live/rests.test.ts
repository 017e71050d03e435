import { expect, test } from 'bun:test'

import { createRests } from '#src/live/rests.ts'

test('createRests: pauses end at the first tick after their time', async () => {
  let nowMs = 0
  const { rest, tick } = createRests(() => nowMs)
  const ended: number[] = []
  const rests = [20, 10].map((ms) => rest(ms).then(() => ended.push(ms)))
  for (nowMs = 0; nowMs < 10; nowMs++) tick()
  await Promise.resolve()
  expect(ended).toEqual([])
  tick()
  await rests[1]
  expect(ended).toEqual([10])
  nowMs = 25
  tick()
  await Promise.all(rests)
  expect(ended).toEqual([10, 20])
})
