import { describe, expect, test } from 'bun:test'

import { runCli } from '#src/cli/program.ts'

import { createCliContext } from '../support/cli-context.ts'
import { configVariables } from '../support/config.ts'

describe('runCli', () => {
  test('default: --help teaches the commands, examples and every variable', async () => {
    const { context, printed } = createCliContext({ BOOKFEED_PORT: 'broken' })
    expect(await runCli(['--help'], context)).toBe(0)
    const help = printed.join('\n')
    for (const command of ['serve', 'record', 'status', 'import', 'verify', 'keys', 'audit']) {
      expect(help).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    }
    for (const variable of configVariables) {
      const values = `Accepts ${variable.accepts}. Default: ${variable.default}`
      expect(help).toContain(`${variable.name} `)
      expect(help).toContain(`${variable.description} ${values}`)
    }
    expect(help).toContain('Examples:')
  })

  test('behavior: help and failures name commands as the user types them', async () => {
    const { context, printed, errors } = createCliContext()
    const invocation = './dist/bookfeed'
    expect(await runCli(['--help'], { ...context, invocation })).toBe(0)
    expect(await runCli(['keys', '--help'], { ...context, invocation })).toBe(0)
    const help = printed.join('\n')
    expect(help).toContain('Usage: ./dist/bookfeed [options] [command]')
    expect(help).toContain('BOOKFEED_PORT=8080 ./dist/bookfeed serve')
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

  test('error: an unusable variable is one line and exit code 1', async () => {
    const { context, errors } = createCliContext({ BOOKFEED_PORT: 'x' })
    expect(await runCli(['serve'], context)).toBe(1)
    expect(errors).toEqual([
      'bookfeed: BOOKFEED_PORT is "x", but must be an integer from 0 to 65535.',
    ])
  })
})
