import { describe, expect, test } from 'bun:test'

import { is } from 'drizzle-orm/entity'
import { getTableName, Table } from 'drizzle-orm/table'
import { getTableColumns } from 'drizzle-orm/utils'

import * as history from '#db/history/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'

describe('sqlOf', () => {
  const sql = sqlOf(history.meta)

  test('default: names columns and parameters as the schema does', () => {
    expect(sqlOf(history.batch).columns()).toBe('id, accepted, duplicates')
    expect(sqlOf(history.market).columns(['id', 'upCount'])).toBe('id, up_count AS "upCount"')
    expect(sqlOf(history.market).set(['slug', 'upCount'])).toBe('slug = $slug, up_count = $upCount')
    expect(sqlOf(history.market).setExcluded(['upCount'])).toBe('up_count = excluded.up_count')
  })

  test('error: a statement refuses values that lack a parameter, and takes undefined as null', () => {
    using db = openDatabase(':memory:')
    const insert = db.prepare<unknown, [Record<string, string | Uint8Array>]>(sql.insert())
    expect(() => insert.run({ key: 'a' })).toThrow('value')
    insert.run({ key: 'a', value: Uint8Array.of(1), other: 'ignored' })
    const select = db.prepare<unknown, []>(`SELECT ${sql.columns()} FROM meta`)
    expect(select.all()).toEqual([{ key: 'a', value: Uint8Array.of(1) }])
  })

  test('behavior: columns of a history are in the order of its file, which checksums follow', () => {
    using db = openDatabase(':memory:')
    for (const table of Object.values(history).filter((value) => is(value, Table))) {
      const held = db.prepare<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
      const names = Object.values(getTableColumns(table)).map(({ name }) => name)
      expect(held.all(getTableName(table)).map(({ name }) => name)).toEqual(names)
    }
  })
})
