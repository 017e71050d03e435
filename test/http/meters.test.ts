import { expect, test } from 'bun:test'

import { FIRST_ROUTE, makeMeterMemory, openMeters, OTHER, readMeters } from '#src/http/meters.ts'

const gauges = {
  pageCacheBytes: 1,
  pageCacheHits: 2,
  pageCacheMisses: 3,
  chunkCacheBytes: 4,
  chunkCacheHits: 5,
  chunkCacheMisses: 6,
  bucketAnswered: 9,
  bucketFailed: 10,
  bucketMs: 11,
  bucketBytes: 12,
  waiting: 7,
  followers: 8,
}

test('default: what threads count is added up, by place and status', () => {
  const memory = makeMeterMemory(2)
  const first = openMeters(memory, 0)
  const second = openMeters(memory, 1)
  first.request(FIRST_ROUTE, 200, 0.1)
  second.request(FIRST_ROUTE, 200, 3)
  second.request(FIRST_ROUTE, 418, 60_000)
  first.request(OTHER, 429, 0.25)
  first.problem('rate_limited')
  second.problem('rate_limited')
  const { answered, problems } = readMeters(memory)
  const seen = answered.map(({ place, status, counts, sumMs }) => {
    return [
      place,
      status,
      counts.flatMap((count, bound) => (count > 0 ? [[bound, count]] : [])),
      sumMs,
    ]
  })
  expect(seen).toEqual([
    [OTHER, '429', [[0, 1]], 0.25],
    [
      FIRST_ROUTE,
      '200',
      [
        [0, 1],
        [4, 1],
      ],
      3.1,
    ],
    [FIRST_ROUTE, 'other', [[14, 1]], 60_000],
  ])
  expect(problems.find(({ code }) => code === 'rate_limited')?.count).toBe(2)
})

test('behavior: a thread that replaces another goes on where it was', () => {
  const memory = makeMeterMemory(2)
  openMeters(memory, 1).request(FIRST_ROUTE, 200, 1)
  openMeters(memory, 1).request(FIRST_ROUTE, 200, 1)
  expect(readMeters(memory).answered[0]?.sumMs).toBe(2)
})

test('default: gauges and the event loop are those of each thread', () => {
  const memory = makeMeterMemory(2)
  const second = openMeters(memory, 1)
  second.set(gauges)
  second.lateness(20)
  const { gauges: all, loops } = readMeters(memory)
  expect(all[1]).toEqual(gauges)
  expect(all[0]?.waiting).toBe(0)
  expect(loops.map(({ sumMs }) => sumMs)).toEqual([0, 20])
})
