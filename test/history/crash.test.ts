import { expect, test } from 'bun:test'

import { createRandom } from '#src/platform/random.ts'

import { onEachEngine } from '../support/engines/each.ts'
import { openHistoryIn } from '../support/stores.ts'
import { batchOf, conditionIdOf } from './books.ts'
import { HistoryModel, rowsText } from './history-model.ts'
import { textOf } from './pages.ts'

const ROUNDS = 3
/** Acknowledgements after which a process is killed. */
const ACKNOWLEDGED_MAX = 60

const script = new URL('../support/append-process.ts', import.meta.url).pathname

/**
 * Lets a process append from `first` on and kills it after some
 * acknowledgements; returns the last of them.
 */
async function appendAndKill(path: string, first: number, kills: Kills): Promise<number> {
  const child = Bun.spawn([process.execPath, script, path, String(first), '100000'], {
    stderr: 'inherit',
  })
  let printed = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    printed += decoder.decode(bytes)
    if (printed.split('\n').length <= kills.after) continue
    // Some of the time lies between two acknowledgements: in the middle of a batch.
    if (kills.pauseMs > 0) await Bun.sleep(kills.pauseMs)
    child.kill('SIGKILL')
  }
  await child.exited
  return Number(printed.trimEnd().split('\n').at(-1) || first - 1)
}

type Kills = { after: number; pauseMs: number }

onEachEngine(({ placeOf }) => {
  test(`behavior: kill -9 loses no acknowledged batch and leaves no half one, ${ROUNDS} times`, async () => {
    const path = placeOf('killed')
    const random = createRandom('crash')
    let next = 0
    for (let round = 0; round < ROUNDS; round++) {
      const kills = { after: 1 + random.integer(ACKNOWLEDGED_MAX), pauseMs: random.integer(4) }
      const acknowledged = await appendAndKill(path, next, kills)
      const history = await openHistoryIn(path)
      expect([round, ...history.verify()]).toEqual([round])
      let applied = 0
      let rows = 0
      while (history.findBatch(`numbered-${applied}`) !== undefined)
        rows += history.findBatch(`numbered-${applied++}`)?.accepted ?? 0
      expect(applied).toBeGreaterThan(acknowledged)
      expect(history.totals().snapshots).toBe(rows)
      history.dispose()
      next = applied
    }
    expect(next).toBeGreaterThan(ROUNDS)
    await checkWhole(path, next)
  }, 480_000)
})

/** It holds what the batches hold, and applying all of them again changes nothing. */
async function checkWhole(path: string, batches: number): Promise<void> {
  const history = await openHistoryIn(path)
  const model = new HistoryModel()
  for (let number = 0; number < batches; number++) model.append(batchOf(number))
  const before = history.totals().snapshots
  const revisions = () => [1, 2].map((at) => history.findMarket(conditionIdOf(at))?.revision)
  const atFirst = revisions()
  for (let number = 0; number < batches; number++)
    expect((await history.append(batchOf(number))).kind).toBe('already_applied')
  expect([history.totals().snapshots, revisions()]).toEqual([before, atFirst])
  expect(before).toBe(model.count)
  for (const conditionId of [conditionIdOf(1), conditionIdOf(2)]) {
    const text = textOf(history, { conditionId, order: 'asc', limit: 1_000_000 })
    expect(text === `[${rowsText(model.rows(conditionId))}]`).toBe(true)
  }
  history.dispose()
}
