import { describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import { postgresPrograms, startPostgres } from './postgres.ts'

const LIMIT_MS = 300_000
const WRITERS = 4
const BEFORE_THE_KILL = 200

describe.skipIf(postgresPrograms === undefined)('PostgreSQL with a synchronous standby', () => {
  test(
    'behavior: kill -9 of the primary and promotion lose no acknowledged row',
    async () => {
      await using postgres = await startPostgres()
      await using sql = new SQL(postgres.url, { max: WRITERS, connectionTimeout: 60 })
      await sql`CREATE TABLE row (id bigint PRIMARY KEY)`
      const acknowledged: number[] = []
      let next = 0
      const write = async (): Promise<void> => {
        for (;;) {
          const id = next++
          await sql`INSERT INTO row VALUES (${id})`
          acknowledged.push(id)
          if (acknowledged.length === BEFORE_THE_KILL) void postgres.killPrimary()
        }
      }
      // Each writer ends with the error of its connection.
      const ends = await Promise.allSettled(Array.from({ length: WRITERS }, write))
      expect(ends.map(({ status }) => status)).toEqual(Array(WRITERS).fill('rejected'))
      await postgres.killPrimary()

      await postgres.promote()
      await using after = new SQL(postgres.url, { max: 1, connectionTimeout: 60 })
      const held = await after`SELECT id FROM row`.values()
      const ids = new Set([...held].map(([id]) => Number(id)))
      expect(acknowledged.length).toBeGreaterThanOrEqual(BEFORE_THE_KILL)
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([])
      // The former standby is alone now and accepts writes.
      await after`INSERT INTO row VALUES (${-1})`
    },
    LIMIT_MS,
  )
})
