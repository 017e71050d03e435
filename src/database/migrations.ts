/** Formats of stores: a number that each migration raises by one; 0 where nothing was made yet. */
import type { Migrations } from '#db/migrations.ts'

/** The format that a store has after all migrations. */
export const formatOf = ({ firstFormat, sql }: Migrations): number => firstFormat + sql.length - 1

/** The migrations that a store of a format lacks. */
export const migrationsAfter = (
  { firstFormat, sql }: Migrations,
  format: number,
): readonly string[] => (format === 0 ? sql : sql.slice(format - firstFormat + 1))

/** True if no migration leads from a format to that of this version. */
export const isTooOld = ({ firstFormat }: Migrations, format: number): boolean =>
  format > 0 && format < firstFormat
