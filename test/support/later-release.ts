/** A preload that turns the program into a later release with one more migration of each store. */

import {
  historyMigrations,
  postgresHistoryMigrations,
  postgresLedgerMigrations,
} from '#db/migrations.ts'

const add = ({ sql }: { sql: readonly string[] }, text: string): void =>
  void (sql as string[]).push(text)

add(historyMigrations, 'CREATE TABLE later (id integer PRIMARY KEY NOT NULL)')
for (const migrations of [postgresHistoryMigrations, postgresLedgerMigrations])
  add(migrations, 'CREATE TABLE later (id bigint PRIMARY KEY)')
