/**
 * Cells of rows, for all reads that ask for some in the same turn of the event loop by one
 * statement: what is sent and answered by itself takes several times as long.
 */
import type { Cell } from '#src/database/database.ts'
import { Missing } from '#src/platform/eventually.ts'

import { copyOfValue } from './reading.ts'
import type { Reads } from './reads.ts'

/** Of one statement: others wait while its answer is taken in. */
const IDS_MAX = 64

/** See `Engine.createCell`; `alone` asks for one by a statement of its own. */
export function createCell(
  { now, ask }: Pick<Reads, 'now' | 'ask'>,
  { table, column }: { table: string; column: string },
  alone: (id: number) => Cell | undefined,
) {
  const text = `SELECT id, ${column} FROM ${table} WHERE id = ANY (CAST($1 AS BIGINT[]))`
  const fetch = gather(async (ids) => {
    const rows = await ask({ text, values: [`{${ids.join()}}`], isBare: true })
    return new Map(rows as [number, Cell][])
  })
  return (id: number): Cell | undefined => {
    const reading = now()
    // One that has chosen a state goes on with it.
    if (reading === undefined || reading.begunAt !== undefined) return alone(id)
    const { found } = reading
    const key = `${id} ${column} ${table}`
    const keep = (cell?: Cell): unknown => found.set(key, cell)
    if (!found.has(key)) throw new Missing(fetch(id).then(keep, () => keep()))
    const cell = found.get(key) as Cell | undefined
    // It says why there is none.
    return cell === undefined ? alone(id) : copyOfValue(cell)
  }
}

/** Finds all that is asked for until the events at hand are done. */
function gather<T>(find: (ids: readonly number[]) => Promise<ReadonlyMap<number, T>>) {
  type Batch = { ids: Set<number>; found: Promise<ReadonlyMap<number, T>> }
  let open: Batch | undefined

  function begin(): Batch {
    const { promise, resolve } = Promise.withResolvers<void>()
    const ids = new Set<number>()
    const batch = { ids, found: promise.then(() => find([...ids])) }
    setImmediate(() => {
      if (open === batch) open = undefined
      resolve()
    })
    return batch
  }

  return async (id: number): Promise<T | undefined> => {
    if (open === undefined || open.ids.size === IDS_MAX) open = begin()
    const { ids, found } = open
    ids.add(id)
    return (await found).get(id)
  }
}
