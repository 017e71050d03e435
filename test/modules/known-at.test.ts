import { describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/core/snapshot.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/lib/random.ts'

import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

type Body = { data: Record<string, unknown>[]; nextCursor?: string | null; detail?: string }

const market = `/v1/btc/markets/${conditionIdOf(1)}`
const MOMENT_MS = START_MS + 150_000
/** What is asked without and with `knownAt`. */
const questions = [
  `${market}/snapshots?limit=1000`,
  `${market}/snapshots?limit=1000&order=desc&outcome=up`,
  `${market}/snapshots?limit=1000&depth=1&fields=id,bids&from=${START_MS + 50_000}`,
  `${market}/snapshots?limit=1000&view=consolidated`,
  `${market}/quotes?limit=10000`,
  `${market}/quotes?limit=10000&order=desc&fields=id,bid&to=${MOMENT_MS}`,
  `${market}/snapshots/at?ts=${MOMENT_MS}`,
  `${market}/snapshots/at?ts=${MOMENT_MS}&outcome=down&view=consolidated`,
]

/** A server whose clock, of history and app, is moved by the test. */
function serve() {
  const time = { nowMs: START_MS + 600_500 }
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  const { send } = createHarness({ history, clock: () => time.nowMs })
  const ask = async (path: string) => (await (await send(path)).json()) as Body
  return { time, history, send, ask }
}

/** Batches of a recording, and of imports that come late in any place. */
function batches(seed: string): Snapshot[][] {
  const random = createRandom(seed)
  const used = new Set<number>()
  return Array.from({ length: 12 }, (_, batch) =>
    Array.from({ length: 30 }, (_row, at) => {
      let second = batch % 3 === 2 ? random.integer(280) : batch * 20 + at
      while (used.has(second)) second++
      used.add(second)
      const outcome = random.integer(2) === 0 ? 'up' : 'down'
      const timestampMs = START_MS + second * 1000
      return aSnapshot({ outcome, timestampMs }, 1_000_000 + batch * 1000 + at)
    }),
  )
}

describe('knownAt', () => {
  test.each(['a', 'b'])(
    'default: the answer is the one that was given at that moment, whatever came later (%s)',
    async (seed) => {
      const { time, history, ask } = serve()
      const given: { knownAt: number; answers: unknown[] }[] = []
      for (const snapshots of batches(seed)) {
        time.nowMs += 2000
        appendAll(history, snapshots)
        const answers = []
        for (const question of questions) {
          const { data, nextCursor } = await ask(question)
          answers.push([data, nextCursor])
        }
        given.push({ knownAt: time.nowMs + 1000, answers })
      }
      history.close(conditionIdOf(1))
      time.nowMs += 5000
      for (const { knownAt, answers } of given) {
        for (const [at, question] of questions.entries()) {
          const { data, nextCursor } = await ask(`${question}&knownAt=${knownAt}`)
          expect([question, data, nextCursor]).toEqual([question, ...(answers[at] as [])])
        }
      }
    },
    30_000,
  )

  test('behavior: a walk in pages gives each row once, and nothing was known at first', async () => {
    const { time, history, ask, send } = serve()
    const all = batches('walk')
    for (const snapshots of all.slice(0, 6)) appendAll(history, snapshots)
    const knownAt = time.nowMs + 1000
    const whole = await ask(`${market}/snapshots?limit=1000`)
    time.nowMs += 2000
    for (const snapshots of all.slice(6)) appendAll(history, snapshots)
    const rows: unknown[] = []
    for (let cursor = '', pages = 0; pages < 99; pages++) {
      const page = await ask(`${market}/snapshots?limit=7&knownAt=${knownAt}${cursor}`)
      rows.push(...page.data)
      cursor = `&cursor=${page.nextCursor}`
      if (page.nextCursor === null) break
    }
    expect(rows).toEqual(whole.data)
    const zipped = await send(`${market}/snapshots?limit=1000&knownAt=${knownAt}`, {
      headers: { 'accept-encoding': 'gzip' },
    })
    expect(zipped.headers.get('x-coverage')).toBe('unknown')
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    const { data } = JSON.parse(
      new TextDecoder().decode(Bun.gunzipSync(await zipped.arrayBuffer())),
    ) as Body
    expect(data).toEqual(whole.data)
    const early = `knownAt=${START_MS + 601_000}`
    expect((await ask(`${market}/snapshots?${early}`)).data).not.toHaveLength(0)
    const other = { ...(all[0]?.[0] as Snapshot), conditionId: conditionIdOf(2), assetId: '72' }
    time.nowMs += 2000
    appendAll(history, [other])
    const none = market.replace(conditionIdOf(1), conditionIdOf(2))
    expect(await ask(`${none}/snapshots?${early}`)).toEqual({ data: [], nextCursor: null })
    expect((await ask(`${none}/quotes?${early}`)).data).toEqual([])
    const at = await send(`${none}/snapshots/at?ts=${MOMENT_MS}&${early}`)
    expect(await readProblem(at)).toMatchObject({ code: 'no_snapshot' })
  })

  test('error: a moment before changes were noted, or rows replaced, names the first one', async () => {
    const { time, history, send } = serve()
    const plain = aSnapshot()
    appendAll(history, [plain])
    const ask = async (knownAt: number, path = 'snapshots?') => {
      const response = await send(`${market}/${path}&knownAt=${knownAt}`)
      return response.status === 200 ? 'answered' : await readProblem(response)
    }
    const first = START_MS + 601_000
    const refusal = { code: 'invalid_parameter', param: 'knownAt' }
    const named = (ms: number) => expect.stringContaining(new Date(ms).toISOString())
    time.nowMs += 10_000
    for (const path of ['snapshots?', 'quotes?', `snapshots/at?ts=${START_MS}`]) {
      expect(await ask(first - 1, path)).toMatchObject({ ...refusal, detail: named(first) })
      expect(await ask(first, path)).toBe('answered')
      expect(await ask(time.nowMs + 1, path)).toMatchObject(refusal)
    }
    appendAll(history, [{ ...plain, sourceHash: 'a'.repeat(40), isVerified: true }])
    const replacedMs = time.nowMs
    time.nowMs += 10_000
    expect(await ask(replacedMs)).toMatchObject({ ...refusal, detail: named(replacedMs + 500) })
    expect(await ask(replacedMs + 500)).toBe('answered')
  })

  test('error: what is not kept as it was known cannot be asked for with it', async () => {
    const { time, history, send } = serve()
    appendAll(history, [aSnapshot()])
    time.nowMs += 10_000
    const knownAt = `knownAt=${time.nowMs}`
    for (const [query, param] of [
      ['snapshots?interval=1s', 'interval'],
      ['quotes?interval=1s', 'interval'],
      ['snapshots?fields=id,receivedAt', 'fields'],
      [`snapshots/at?ts=${START_MS}&fields=receivedAt`, 'fields'],
    ])
      expect(await readProblem(await send(`${market}/${query}&${knownAt}`))).toMatchObject({
        ...{ code: 'invalid_parameter', param },
      })
  })
})
