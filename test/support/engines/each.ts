import { afterAll, beforeAll, describe } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { isChosen } from './chosen.ts'
import { type Postgres, postgresPrograms, startPostgres } from './postgres.ts'

const START_MS_MAX = 300_000

export type OnEngine = {
  engine: 'SQLite' | 'PostgreSQL'
  /** The place of a store with this name, empty at first. Call it within a test. */
  placeOf(name: string): string
}

/** Starts a PostgreSQL with a standby for the tests of a block. */
export function usePostgres() {
  let postgres: Postgres | undefined
  beforeAll(async () => {
    postgres = await startPostgres()
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())
  const server = (): Postgres => {
    if (postgres === undefined) throw new Error('The tests of the block have not begun.')
    return postgres
  }
  return { server, placeOf: (name: string): string => `${server().url}?schema=${name}` }
}

/** Describes tests on a file, in a folder that is removed with them. */
export function onFile(body: (on: OnEngine) => void): void {
  describe.skipIf(!isChosen('sqlite'))('SQLite', () => {
    let folder = ''
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'bookfeed-engine-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))
    body({ engine: 'SQLite', placeOf: (name) => join(folder, `${name}.db`) })
  })
}

/** Describes tests once for each engine, in a folder or a database that is removed with them. */
export function onEachEngine(body: (on: OnEngine) => void): void {
  onFile(body)

  describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
    body({ engine: 'PostgreSQL', placeOf: usePostgres().placeOf })
  })
}
