import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import { createReportedJob } from '#src/platform/job.ts'
import { startScreening } from '#src/screening/schedule.ts'
import { startForgetting } from '#src/server/forgetting.ts'
import { startRetention } from '#src/server/retention.ts'

import { createCliContext } from '../support/cli-context.ts'
import { createFakeTimers } from '../support/fake-timers.ts'
import { clearOf, NOW_MS } from '../support/harness.ts'
import { addOldMarkets } from '../support/old-markets.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const byHand = { acceptsLoss: false }

describe('a job that the operator may start', () => {
  test('default: it is the job of the clock: never two runs, and the next one shows', async () => {
    const timers = createFakeTimers(NOW_MS)
    const board = createJobBoard(timers.clock)
    let running = 0
    let runs = 0
    let most = 0
    let end = () => {}
    const job = createReportedJob(
      { ...timers, report: board.add('slow', 'Takes time.') },
      async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => {
          end = resolve
        })
        running--
        return { outcome: `Run ${++runs}.`, waitMs: HOUR_MS }
      },
    )
    job.hasten(60_000)
    expect(board.list()[0]).toMatchObject({
      canRun: true,
      isRunning: false,
      nextMs: NOW_MS + 60_000,
    })

    const notes: string[] = []
    const note = (who: string) => async () => void notes.push(who)
    const first = board.run('slow', byHand, note('first'))
    const second = board.run('slow', byHand, note('second'))
    await expect(second).rejects.toThrow('running already')
    await first
    timers.advance(60_000)
    end()
    await until(() => runs === 1)
    await until(() => timers.delays().length === 1)
    expect(board.list()).toMatchObject([
      { isRunning: false, outcome: 'Run 1.', nextMs: NOW_MS + 60_000 + HOUR_MS },
    ])
    expect([most, notes, timers.delays()]).toEqual([1, ['first'], [HOUR_MS]])
    await job.dispose()
  })

  test('error: what cannot be written down is not started', async () => {
    const board = createJobBoard(() => NOW_MS)
    let runs = 0
    board.add('verify', 'Looks.', async () => `Run ${++runs}.`)
    const full = async () => {
      throw new Error('disk full')
    }
    await expect(board.run('verify', byHand, full)).rejects.toThrow('disk full')
    expect([runs, board.list()[0]?.isRunning]).toEqual([0, false])
  })

  test('default: forgetting, retention and screening are started, and say how they ended', async () => {
    const { context } = createCliContext({ BOOKFEED_KEEP_DAYS: '2' })
    const clock = () => NOW_MS + 60 * DAY_MS
    using ledger = openLedger(':memory:', { nowMs: NOW_MS })
    const history = openHistory(':memory:')
    await addOldMarkets(history, 4)
    const board = createJobBoard(clock)
    const forgetting = startForgetting({ ...context, clock }, ledger, board.add('forgetting', ''))
    const retention = startRetention(
      { ...context, clock: () => NOW_MS },
      history,
      board.add('retention', ''),
    )
    const screening = startScreening({
      ledger,
      clock,
      log: () => {},
      location: undefined,
      staleAfterMs: DAY_MS,
      screen: async (address) => clearOf(address, NOW_MS),
      startTimer: createFakeTimers(NOW_MS).startTimer,
      report: { list: board.add('list', ''), accounts: board.add('screening', '') },
    })
    const ended = () => board.list().filter(({ outcome }) => outcome !== undefined)
    await until(() => ended().length === 3)
    expect(history.totals().markets).toBe(2)

    await ledger.signUp(
      {
        nonce: 'n1',
        expiresMs: NOW_MS + 1,
        address: `0x${'a'.repeat(40)}`,
        keysMax: 1,
        accountId: 'acc_idle',
        key: { id: 'key_idle', digest: new Uint8Array(32), hint: 'abcd', label: undefined },
      },
      NOW_MS,
    )
    for (const name of ['retention', 'screening', 'forgetting']) {
      await board.run(name, byHand, () => ledger.noteJob({ name, ...byHand }, byOperatorNow))
      await until(() => board.list().every(({ isRunning }) => !isRunning))
    }
    expect(board.list()).toMatchObject([
      { canRun: true, outcome: '1 account deleted.', nextMs: clock() + HOUR_MS },
      { canRun: true, outcome: 'Nothing was due.', nextMs: NOW_MS + 60_000 },
      // There is no list to be fetched.
      { canRun: false },
      { canRun: true, outcome: 'Screened 1 account: 1 clear, 0 sanctioned, 0 unknown.' },
    ])
    const started = ledger.listAudit(0, 100).filter(({ action }) => action === 'job.started')
    expect(started.map(({ actor, subject }) => `${actor} ${subject}`)).toEqual([
      'operator retention',
      'operator screening',
      'operator forgetting',
    ])
    expect([...ledger.verifyAudit()]).toEqual([])
    await retention[Symbol.asyncDispose]()
    await forgetting.dispose()
    await screening.dispose()
    history.dispose()
  })
})

const byOperatorNow = { actor: 'operator', nowMs: NOW_MS } as const
