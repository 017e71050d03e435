/** What a read that runs again has found is of one moment of the database. */
import { describe, expect, test } from 'bun:test'

import { createCell } from '#src/extensions/postgres/cells.ts'
import { openPostgres, postgresLedger } from '#src/extensions/postgres/database.ts'
import { together } from '#src/platform/eventually.ts'

import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'

const TRANSFERS = 50
const CENTS = 1000

describe.skipIf(postgresPrograms === undefined)('what a serving thread reads', () => {
  const { placeOf } = usePostgres()
  const ROWS = 100
  const bytesOf = (id: number): Uint8Array => new Uint8Array(id).fill(id)

  test.each([
    ['one after the other', false],
    ['at once, and then one more', true],
  ])('behavior: what is asked for %s is of one state', async (_, isTogether) => {
    const place = placeOf('reading')
    const writer = openPostgres(place, postgresLedger)
    const reader = openPostgres(place, postgresLedger, true)
    writer.run(`CREATE TABLE IF NOT EXISTS purse (id bigint PRIMARY KEY, cents bigint NOT NULL);
      INSERT INTO purse VALUES (1, ${CENTS}), (2, ${CENTS}) ON CONFLICT (id) DO NOTHING`)
    const move = (): void => {
      writer.run('UPDATE purse SET cents = cents + CASE id WHEN 1 THEN 1 ELSE -1 END')
    }
    const find = reader.prepare<{ cents: number }, [number]>(
      'SELECT cents FROM purse WHERE id = $1',
    )
    const both = reader.prepare<{ cents: number }, []>('SELECT cents FROM purse')
    const centsOf = (id: number): number => find.get(id)?.cents ?? 0
    const all = (): number[] => both.all().map(({ cents }) => cents)
    const sumOf = (found: readonly number[]) => found.reduce((sum, cents) => sum + cents, 0)
    let runs = 0
    for (let transfer = 0; transfer < TRANSFERS; transfer++) {
      const sum = await reader.reads?.eventually(() => {
        runs++
        const found = isTogether
          ? together(
              () => centsOf(1),
              () => centsOf(2),
            )
          : [centsOf(1)]
        // Somebody writes between any two questions.
        move()
        return isTogether ? sumOf(found) + sumOf(all()) - 2 * CENTS : sumOf(found) + centsOf(2)
      })
      expect(sum).toBe(2 * CENTS)
    }
    expect(runs).toBeGreaterThan(TRANSFERS)
    for (const db of [reader, writer]) db.close()
  })

  test('behavior: reads at once of cells share a question, and each has bytes of its own', async () => {
    const place = placeOf('cells')
    const writer = openPostgres(place, postgresLedger)
    const reader = openPostgres(place, postgresLedger, true)
    writer.run('CREATE TABLE box (id bigint PRIMARY KEY, content bytea NOT NULL)')
    const insert = writer.prepare<unknown, [number, Uint8Array]>('INSERT INTO box VALUES ($1, $2)')
    for (let id = 1; id <= ROWS; id++) insert.run(id, bytesOf(id))
    const { reads } = reader
    if (reads === undefined) throw new Error('It does not serve.')
    let [asked, askedAlone] = [0, 0]
    const ask: typeof reads.ask = (question) => {
      asked++
      return reads.ask(question)
    }
    const contentOf = createCell(
      { now: reads.now, ask },
      { table: 'box', column: 'content' },
      () => void askedAlone++,
    )
    // Some twice, and some that are not there.
    const ids = Array.from({ length: 2 * ROWS }, (_, at) => 1 + (at % (ROWS + 10)))
    const found = await Promise.all(ids.map((id) => reads.eventually(() => contentOf(id))))
    expect(found).toEqual(ids.map((id) => (id > ROWS ? undefined : bytesOf(id))))
    expect(new Set(found.flatMap((bytes) => bytes ?? [])).size).toBe(
      ids.filter((id) => id <= ROWS).length,
    )
    // No more than 64 at a time.
    expect({ asked, askedAlone }).toEqual({ asked: 4, askedAlone: 10 })

    const wrong = createCell(
      { now: reads.now, ask },
      { table: 'box', column: 'nothing' },
      () => 'said why',
    )
    expect(await reads.eventually(() => wrong(1))).toBe('said why')
    for (const db of [reader, writer]) db.close()
  })
})
