/** The costs of catching up, and what happens to a copy whose file cannot be opened. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { addressOf } from '#src/extensions/postgres/address.ts'
import { createChanges, type Entry } from '#src/extensions/postgres/changes.ts'
import { connect } from '#src/extensions/postgres/connection.ts'
import { openCopiedFile } from '#src/extensions/postgres/copied-file.ts'
import { postgresHistory } from '#src/extensions/postgres/formats.ts'

import { aSnapshot, conditionIdOf } from '../../history/books.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openHistoryIn } from '../../support/stores.ts'

const TEST_MS_MAX = 300_000
const APPENDS = 20
const ROWS_OF_EACH = 5
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-catch-up-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(postgresPrograms === undefined)('catching up', () => {
  const { server, placeOf } = usePostgres()

  test(
    'behavior: reads each row of an unfinished run once, whatever number of times it grew',
    async () => {
      const place = placeOf('tails')
      const history = await openHistoryIn(place)
      const conditionId = conditionIdOf(1)
      for (let append = 0; append < APPENDS; append++) {
        const snapshots = Array.from({ length: ROWS_OF_EACH }, (_, at) => {
          const number = append * ROWS_OF_EACH + at + 1
          return aSnapshot(
            { conditionId, timestampMs: 1_776_153_600_000 + number },
            number * 10_000,
          )
        })
        await history.append({ id: `append-${append}`, source: 'recorded', snapshots })
      }
      history.dispose()

      await using sql = new SQL(server().url, { bigint: true })
      const count = async (text: string) => Number((await sql.unsafe(text).values())[0]?.[0])
      const logged = await count("SELECT count(*) FROM tails.change WHERE name = 'tail'")
      expect(logged).toBeGreaterThanOrEqual(APPENDS)
      expect(logged).toBeLessThan(APPENDS * ROWS_OF_EACH)

      const entries = await sql.unsafe('SELECT DISTINCT name, key FROM tails.change').values()
      const connection = await connect(addressOf(place, postgresHistory.schema)).reserve()
      let read = 0
      const steps = createChanges(postgresHistory).named(connection, entries as Entry[])
      for await (const { table, rows } of steps) if (table.name === 'tail') read += rows.length
      expect(read).toBe(await count('SELECT count(*) FROM tails.tail'))
      await connection.close()
    },
    TEST_MS_MAX,
  )
})

describe('the file of a copy', () => {
  test(
    'error: is kept if it cannot be opened now',
    () => {
      const path = join(folder, 'locked.db')
      const copy = openCopiedFile(path, postgresHistory)
      copy.close()
      using other = new Database(path)
      other.run('PRAGMA locking_mode = EXCLUSIVE')
      other.run('CREATE TABLE mark (id INTEGER)')
      expect(() => openCopiedFile(path, postgresHistory)).toThrow('locked by another process')
      other.run('INSERT INTO mark VALUES (1)')
      other.close()
      using again = new Database(path)
      expect(again.query('SELECT id FROM mark').values()).toEqual([[1]])
    },
    TEST_MS_MAX,
  )

  test('behavior: is replaced if it is damaged', () => {
    const path = join(folder, 'damaged.db')
    writeFileSync(path, 'no database'.repeat(1000))
    const copy = openCopiedFile(path, postgresHistory)
    expect(copy.state().serial).toBe(-1)
    copy.close()
    expect(existsSync(path)).toBe(true)
  })
})
