/** Preloaded, it makes of the program a later release, which has one migration of the history more. */

import { historyMigrations } from '#db/migrations.ts'

const sql = historyMigrations.sql as string[]
sql.push('CREATE TABLE later (id integer PRIMARY KEY NOT NULL)')
