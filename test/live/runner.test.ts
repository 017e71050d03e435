import { describe, expect, test } from 'bun:test'

import { createRunner, type Paced } from '#src/live/runner.ts'
import { createScheduler } from '#src/platform/scheduler.ts'

import { until } from '../support/until.ts'

/** Time passes only when a step takes some. */
function createTimed() {
  const time = { ms: 0 }
  const runner = createRunner({ turn: createScheduler().take, timer: () => time.ms })
  return { time, ...runner }
}

describe('createRunner', () => {
  test('default: long work of several goes on in turns', async () => {
    const { time, run } = createTimed()
    const done: string[] = []
    function* work(name: string): Paced {
      for (let step = 0; step < 20; step++) {
        time.ms += 1
        done.push(name)
        yield 0
      }
    }
    for (const name of ['a', 'b']) run({ owner: name, level: 0 }, work(name), () => {})
    await until(() => done.length === 40)
    const changes = done.filter((name, index) => name !== done[index - 1])
    expect(changes.length).toBeGreaterThan(8)
  })

  test('behavior: work that rests is woken by a tick when its time is over, and not before', async () => {
    const { time, run, tick } = createTimed()
    let steps = 0
    function* work(): Paced {
      for (;;) {
        steps++
        yield 10
      }
    }
    run({ owner: 'a', level: 0 }, work(), () => {})
    await until(() => steps === 1)
    time.ms = 9
    tick()
    await Bun.sleep(2)
    expect(steps).toBe(1)
    time.ms = 10
    tick()
    await until(() => steps === 2)
  })

  test('error: what work throws ends it alone', async () => {
    const { run } = createTimed()
    const errors: unknown[] = []
    const fault = new Error('It is broken.')
    function* work(): Paced {
      yield 0
      throw fault
    }
    run({ owner: 'a', level: 0 }, work(), (error) => errors.push(error))
    await until(() => errors.length > 0)
    expect(errors).toEqual([fault])
  })
})
