import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: 'db/history/schema.ts',
  out: 'db/history/migrations',
})
