import { expect, test } from 'bun:test'

import { createPageCache } from '#src/platform/page-cache.ts'

test('createPageCache > behavior: of many pages that are made in turn every one is kept the second time', () => {
  const pages = createPageCache(2 ** 24)
  const tags = Array.from({ length: 500 }, (_, index) => `page ${index}`)
  const found = () => tags.filter((tag) => pages.find(tag) !== undefined).length
  const counts = [0, 1].map(() => {
    for (const tag of tags) pages.put({ tag, body: new Uint8Array(9) })
    return found()
  })
  expect(counts).toEqual([0, 500])
})
