/** The SQL that drizzle-kit generated, embedded, so that a compiled binary carries it. In order; never edited. */
import history from './migrations/0000_history.sql' with { type: 'text' }

export const migrations: readonly string[] = [history]
