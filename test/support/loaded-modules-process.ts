/**
 * Starts a server, waits for its banner, stops it, and prints the loaded packages. A separate
 * process, because the test has loaded all of them. Argument: the environment as JSON.
 */
import { runCli } from '#src/cli/program.ts'

import { createCliContext } from './cli-context.ts'

const [env = '{}'] = process.argv.slice(2)
const { context, stop } = createCliContext({
  BOOKFEED_RECORD: 'off',
  ...(JSON.parse(env) as Record<string, string>),
})
const greeted = Promise.withResolvers<void>()
const serving = runCli(['serve'], { ...context, print: () => greeted.resolve() })
await Promise.race([greeted.promise, serving])
const loaded = Object.keys(require.cache).flatMap(
  (path) => /node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(path)?.[1] ?? [],
)
stop()
const exitCode = await serving
process.stdout.write(JSON.stringify({ exitCode, packages: [...new Set(loaded)] }))
