import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: 'db/ledger/schema.ts',
  out: 'db/ledger/migrations',
})
