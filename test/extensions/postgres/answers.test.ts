/** A server on PostgreSQL answers as one on a file does, byte for byte, and waits for nothing. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import { copyHistory } from '#src/extensions/postgres/copy-history.ts'
import { openPostgres, postgresHistory } from '#src/extensions/postgres/database.ts'
import { openHistory } from '#src/history/open.ts'

import { START_MS } from '../../history/books.ts'
import { expectSameAnswers, fillAnswers, requestsFor } from '../../support/answers.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { createHarness } from '../../support/harness.ts'

const START_MS_MAX = 120_000

describe.skipIf(postgresPrograms === undefined)('answers of a server on PostgreSQL', () => {
  let postgres: Postgres
  let folder = ''
  let place = ''
  beforeAll(async () => {
    postgres = await startPostgres()
    folder = await mkdtemp(join(tmpdir(), 'bookfeed-answers-'))
    place = `${postgres.url}?schema=answers`
    const history = openHistory(join(folder, 'history.db'))
    fillAnswers(history)
    history.dispose()
    const [from, to] = [
      openDatabase(join(folder, 'history.db')),
      openPostgres(place, postgresHistory),
    ]
    for (const _ of copyHistory(from, to));
    for (const db of [from, to]) db.close()
  }, START_MS_MAX)
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test(
    'default: the same texts, tags, coverage and cursors as from the file it was copied from',
    async () => {
      const file = openHistory(join(folder, 'history.db'))
      const remote = openHistory(place, { isServing: true })
      const asked = [...requestsFor(file), ...requestsFor(file)]
      const waited = spyOn(Atomics, 'wait')
      await expectSameAnswers([file, remote], asked)
      expect(waited).not.toHaveBeenCalled()
      waited.mockRestore()
      for (const history of [file, remote]) history.dispose()
    },
    START_MS_MAX,
  )

  test(
    'behavior: what takes longer than a millisecond to fetch is answered, too',
    async () => {
      const history = openHistory(place, { isServing: true })
      let nowMs = START_MS
      const { send } = createHarness({ history, clock: () => ++nowMs })
      const asked = [...requestsFor(history), '/v1/btc/prices?interval=1h', '/v1/eth/panel']
      for (const path of asked) expect([path, (await send(path)).status]).not.toEqual([path, 500])
      history.dispose()
    },
    START_MS_MAX,
  )
})
