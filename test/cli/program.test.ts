import { describe, expect, test } from 'bun:test'

import { runCli } from '#src/cli/program.ts'
import { extensions } from '#src/extensions.ts'
import { commandGroups } from '#src/server/extension.ts'
import { coreCommands } from '#src/server/invocation.ts'

import { createCliContext } from '../support/cli-context.ts'
import { configVariables } from '../support/config.ts'

const commandNames = [
  ...coreCommands,
  ...extensions.flatMap(({ commands = {} }) => Object.keys(commands)),
]

describe('runCli', () => {
  test('default: --help has every command below its heading, and examples', async () => {
    const { context, printed } = createCliContext({ BOOKFEED_PORT: 'broken' })
    expect(await runCli(['--help'], context)).toBe(0)
    const help = printed.join('\n')
    for (const heading of commandGroups)
      expect(help).toMatch(new RegExp(`^${heading}:\n  \\S`, 'm'))
    for (const command of commandNames) expect(help).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    expect(help).not.toContain('\nCommands:')
    expect(help).toContain('Examples:')
    expect(help).toContain('bookfeed help config lists them')
  })

  test.each([[['help', 'config']], [['config']], [['config', '--help']]])(
    'default: %p lists every variable',
    async (args) => {
      const { context, printed } = createCliContext({ BOOKFEED_PORT: 'broken' })
      expect(await runCli(args, context)).toBe(0)
      const help = printed.join('\n').replaceAll(/\s+/g, ' ')
      for (const { name, description, accepts, default: fallback } of configVariables) {
        const values = `Accepts ${accepts}. Default: ${fallback || 'empty'}.`
        expect(help).toContain(`${name} ${description} ${values}`)
      }
    },
  )

  test.each([
    [80, 'bookfeed'],
    [80, 'bun src/main.ts'],
    [80, 'npx -y bun@1.4.5 src/main.ts'],
    [100, 'bookfeed'],
  ])('behavior: all help fits into %d columns, for %s', async (columns, invocation) => {
    const { context, printed } = createCliContext()
    const run = (...args: string[]) => runCli(args, { ...context, columns, invocation })
    await run('--help')
    for (const command of commandNames) {
      const start = printed.length
      await run('help', command)
      const own = printed.slice(start).join('\n')
      const below = /^Commands:\n((?: {2}.*\n)+)/m.exec(own)?.[1] ?? ''
      for (const [, name = ''] of below.matchAll(/^ {2}(\w\S*)/gm))
        await run(command, name, '--help')
    }
    const help = printed.join('\n')
    const lines = help.split('\n')
    expect(lines.length).toBeGreaterThan(500)
    // An address and a key in an example are not broken.
    const isWhole = (line: string) => /:\/\/\S+|--public-key \S+/.test(line)
    const isTooLong = (line: string) => Bun.stringWidth(line) > columns && !isWhole(line)
    expect(lines.filter(isTooLong)).toEqual([])
    // Nor is what is typed to run the program.
    expect(help.replaceAll(/\s+/g, ' ').split(invocation)).toHaveLength(
      help.split(invocation).length,
    )
  })

  test('behavior: a program in a folder with a long path is named on one line with its command', async () => {
    const { context, printed } = createCliContext()
    const invocation = `/home/${'a-long-name/'.repeat(6)}bun.exe ../${'another/'.repeat(6)}main.ts`
    await runCli(['keys', 'create', '--help'], { ...context, columns: 80, invocation })
    const help = printed.join('\n')
    expect(help).toStartWith(`Usage: ${invocation} keys create [options]\n`)
    expect(help).toContain(`\n  ${invocation} keys create\n`)
    expect(help).toContain(`\n  KEY=$(${invocation} keys create \\\n      --tier pro --days 30)\n`)
    expect(help).toContain(`${invocation} tiers\n`)
  })

  test('behavior: an example and what it does are one line of the help, at 80 columns', async () => {
    const { context, printed } = createCliContext()
    await runCli(['--help'], { ...context, columns: 80, invocation: 'bun src/main.ts' })
    const [, text = ''] = /^Examples:\n((?: {2}.*\n)+)/m.exec(printed.join('\n')) ?? []
    const examples = text.trimEnd().split('\n')
    expect(examples.length).toBeGreaterThan(8)
    for (const example of examples) expect(example).toMatch(/^ {2}\S.* {2}\S/)
  })

  test('behavior: help and failures name commands as the user types them', async () => {
    const { context, printed, errors } = createCliContext()
    const invocation = './dist/bookfeed'
    expect(await runCli(['--help'], { ...context, invocation })).toBe(0)
    expect(await runCli(['keys', '--help'], { ...context, invocation })).toBe(0)
    const help = printed.join('\n')
    expect(help).toContain('Usage: ./dist/bookfeed [options] [command]')
    expect(help).toContain('./dist/bookfeed serve --port 8080')
    expect(help).toContain('./dist/bookfeed help config')
    expect(help).toContain('KEY=$(./dist/bookfeed keys create --tier pro)')
    expect(help.match(/(?<!\/)\bbookfeed (serve|keys|import|verify)/g)).toBeNull()
    expect(await runCli(['status'], { ...context, invocation })).toBe(1)
    expect(errors.join()).toContain('./dist/bookfeed record starts one, and ./dist/bookfeed serve')
  })

  test('behavior: --version is that of the context', async () => {
    const { context, printed } = createCliContext()
    expect(await runCli(['--version'], context)).toBe(0)
    expect(printed).toEqual(['0.0.0-test'])
  })

  test.each([['keys'], ['tiers'], ['audit']])(
    'behavior: %s --help goes to stdout, also for what is below it',
    async (name) => {
      const { context, printed, errors } = createCliContext()
      expect(await runCli([name, '--help'], context)).toBe(0)
      expect(await runCli([name, 'list', '--help'], context)).toBe(0)
      expect(printed.join('\n')).toContain(`Usage: bookfeed ${name} list`)
      expect(errors).toEqual([])
    },
  )

  test.each([
    [['sevre']],
    [['serve', '--nope']],
    [['keys']],
    [['keys', 'mint']],
    [['audit', 'list', '--nope']],
    [[]],
  ])('error: %p is a wrong call', async (args) => {
    const { context, printed, errors } = createCliContext()
    expect(await runCli(args, context)).toBe(2)
    expect(printed).toEqual([])
    expect(errors.join('\n')).toMatch(/help|Usage/)
  })

  test.each([
    [['help', 'srve'], 'srve', 'serve'],
    [['srve', '--help'], 'srve', 'serve'],
    [['help', 'keys', 'crate'], 'crate', 'create'],
    [['keys', 'help', 'crate'], 'crate', 'create'],
    [['help', 'nosuch'], 'nosuch', undefined],
  ])('error: %p names the unknown command, and the nearest one', async (args, unknown, nearest) => {
    const { context, printed, errors } = createCliContext()
    expect(await runCli(args, context)).toBe(2)
    expect(printed).toEqual([])
    const meant = nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`
    expect(errors[0]).toBe(`error: unknown command '${unknown}'${meant}`)
  })

  test.each([[['help', 'keys', 'create']], [['keys', 'help', 'create']]])(
    'default: %p is the help of the command below',
    async (args) => {
      const { context, printed } = createCliContext()
      expect(await runCli(args, context)).toBe(0)
      expect(printed.join()).toStartWith('Usage: bookfeed keys create')
    },
  )

  test('error: a folder that is a file is named with the option or the variable that named it', async () => {
    const file = new URL(import.meta.url).pathname
    const faultOf = async (args: string[], env: Record<string, string>) => {
      const { context, errors } = createCliContext(env)
      expect(await runCli(args, context)).toBe(1)
      return errors
    }
    const begin = `bookfeed: Cannot write to the data folder ${file} (it is a file).`
    expect(await faultOf(['serve', '--data', file], {})).toEqual([
      `${begin} Set --data to a folder that this user may write to.`,
    ])
    expect(await faultOf(['serve'], { BOOKFEED_DATA: file })).toEqual([
      `${begin} Set BOOKFEED_DATA to a folder that this user may write to.`,
    ])
    expect(await faultOf(['copy', '--to', file], {})).toEqual([
      `bookfeed: --to: ${file} cannot be written (it is a file).`,
    ])
    expect(await faultOf(['restore', '--from', file], {})).toEqual([
      `bookfeed: The backups in ${file} cannot be used (it is a file). Name a folder that this user may read and write, or s3://bucket/prefix.`,
    ])
    const doctor = createCliContext({ BOOKFEED_DATA: file })
    expect(await runCli(['doctor'], doctor.context)).toBe(1)
    expect(doctor.printed).toContain(`wrong    permissions: ${file} is a file, not a folder.`)
  })

  test('error: a server that does not answer is no unexpected failure', async () => {
    const { context, errors } = createCliContext()
    expect(await runCli(['verify', '--manifest', 'http://127.0.0.1:9'], context)).toBe(1)
    expect(errors).toEqual([
      expect.stringMatching(/^bookfeed: http:\/\/127\.0\.0\.1:9 does not respond \(\w+\)\.$/),
    ])
  })

  test('error: backup list without a place names its option', async () => {
    const { context, errors } = createCliContext()
    expect(await runCli(['backup', 'list'], context)).toBe(2)
    expect(errors.join()).toContain('with --from, or set BOOKFEED_BACKUP_TO')
    expect(await runCli(['backup', '--to', 's3:/bucket'], context)).toBe(2)
    expect(errors.at(-1)).toBe('bookfeed: --to must be a folder or s3://bucket/prefix.')
  })

  test('error: an unusable variable is one line and exit code 1', async () => {
    const { context, errors } = createCliContext({ BOOKFEED_PORT: 'x' })
    expect(await runCli(['serve'], context)).toBe(1)
    expect(errors).toEqual([
      'bookfeed: BOOKFEED_PORT is "x", but must be an integer from 0 to 65535.',
    ])
  })
})
