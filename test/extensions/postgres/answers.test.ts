/** A server on PostgreSQL answers as one on a file does, byte for byte, and waits for nothing. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expectSameAnswers, fillAnswers, requestsFor } from '../../support/answers.ts'
import { copyBooks } from '../../support/copied-stores.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { openReplicatedHistory } from '../../support/replicated-history.ts'
import { openHistoryIn } from '../../support/stores.ts'

const START_MS_MAX = 300_000

describe.skipIf(postgresPrograms === undefined)('answers of a server on PostgreSQL', () => {
  let postgres: Postgres
  let folder = ''
  let place = ''
  beforeAll(async () => {
    postgres = await startPostgres()
    folder = await mkdtemp(join(tmpdir(), 'bookfeed-answers-'))
    for (const name of ['first', 'second']) await mkdir(join(folder, name))
    place = `${postgres.url}?schema=answers`
    const history = await openHistoryIn(join(folder, 'history.db'))
    await fillAnswers(history)
    history.dispose()
    await copyBooks(join(folder, 'history.db'), place)
  }, START_MS_MAX)
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test(
    'default: the same texts, tags, coverage and cursors as from the file it was copied from',
    async () => {
      const file = await openHistoryIn(join(folder, 'history.db'))
      await using remote = await openReplicatedHistory(place, join(folder, 'first'))
      const asked = [...requestsFor(file), ...requestsFor(file)]
      const waited = spyOn(Atomics, 'wait')
      await expectSameAnswers([file, remote.history], asked)
      expect(waited).not.toHaveBeenCalled()
      waited.mockRestore()
      file.dispose()
    },
    START_MS_MAX,
  )

  test(
    'behavior: the same while the primary is away, of what was never read before',
    async () => {
      const file = await openHistoryIn(join(folder, 'history.db'))
      await using remote = await openReplicatedHistory(place, join(folder, 'second'))
      await postgres.killPrimary()
      // Of all routes one says that the primary is away.
      const asked = requestsFor(file).filter((path) => path !== '/readyz')
      await expectSameAnswers([file, remote.history], asked)
      file.dispose()
    },
    START_MS_MAX,
  )
})
