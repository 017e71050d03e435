import { describe, expect, test } from 'bun:test'

import { openMortal, waysToEnd } from '../support/mortal-answers.ts'

const MS_MAX = 20_000

describe('openBlocking', () => {
  test.each(waysToEnd)(
    'error: a thread that ends (%s) is noticed at once, and another one answers',
    (end) => {
      const thread = openMortal()
      expect(thread.ask('hello', MS_MAX)).toBe('HELLO')
      const begunMs = performance.now()
      expect(thread.ask(end, MS_MAX)).toBeUndefined()
      expect(performance.now() - begunMs).toBeLessThan(MS_MAX / 2)
      expect(thread.ask('again', MS_MAX)).toBe('AGAIN')
      // One that ends while nobody waits.
      thread.tell(end)
      const answers = Array.from({ length: 3 }, () => thread.ask('more', MS_MAX))
      expect(answers.at(-1)).toBe('MORE')
      thread.close()
    },
    3 * MS_MAX,
  )
})
