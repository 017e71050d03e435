import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { asService } from '#src/server/service-lines.ts'

import { createCliContext } from '../support/cli-context.ts'
import { startKillableServer } from '../support/killable-server.ts'

function linesOf(
  log: string,
  say: (print: ReturnType<typeof asService>['printError']) => void,
  isTty = false,
) {
  const { context } = createCliContext({ BOOKFEED_LOG: log })
  const lines: string[] = []
  const invocation = `'/opt/a "b"/bookfeed'`
  const writeLog = (line: string) => void lines.push(line)
  using service = asService({ ...context, invocation, writeLog, isTty })
  say(service.printError)
  return lines.join('')
}

describe('asService', () => {
  test.each(['json', 'off'])(
    'default: with %s a line is JSON with time, level and message',
    (log) => {
      const lines = linesOf(log, (print) => {
        print('bookfeed: all is well\nagain')
        print('bookfeed: See: bookfeed verify', 'error', 'req_1')
      })
      const time = '2026-01-02T03:04:05.678Z'
      expect(
        lines
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual([
        { time, level: 'info', message: 'all is well\nagain' },
        { time, level: 'error', requestId: 'req_1', message: `See: '/opt/a "b"/bookfeed' verify` },
      ])
    },
  )

  test('default: text is for people', () => {
    const lines = linesOf('text', (print) => print('bookfeed: no backup could be made', 'warn'))
    expect(lines).toBe('2026-01-02T03:04:05.678Z warn no backup could be made\n')
  })

  test.each([
    ['auto', true, 'text'],
    ['auto', false, 'json'],
    ['json', true, 'json'],
    ['text', false, 'text'],
  ] as const)('default: %s on a terminal (%p) is %s', (log, isTty, form) => {
    const line = linesOf(log, (print) => print('ready'), isTty)
    expect(line.startsWith('{') ? 'json' : 'text').toBe(form)
    const { context } = createCliContext({ BOOKFEED_LOG: log })
    using service = asService({ ...context, isTty })
    expect(service.config().log).toBe(form)
  })

  test('behavior: no key is in a line', () => {
    const key = `bf_live_${'a'.repeat(36)}`
    expect(linesOf('json', (print) => print(`pasted ${key}`))).not.toContain(key)
  })
})

test('behavior: what packages write to the console is a line like the others, for as long', () => {
  const { warn } = console
  const printed = linesOf('json', () => {
    const { warn: say, error: fail } = console
    say('LISTEN %s failed', 'books', new Error('gone'))
    fail('gone')
  })
  const [warning, error] = printed
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(warning.level).toBe('warn')
  expect(warning.message).toStartWith('LISTEN books failed Error: gone')
  expect(error).toMatchObject({ level: 'error', message: 'gone' })
  expect(console).toHaveProperty('warn', warn)
})

test('behavior: what a server says by itself has the form of its access log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-lines-'))
  const server = await startKillableServer({
    BOOKFEED_DATA: folder,
    BOOKFEED_PORT: '0',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_SANCTIONS_LIST: join(folder, 'none.xml'),
  })
  await fetch(`${server.origin}/healthz`, { headers: { 'x-request-id': 'mine' } })
  const read = () =>
    server
      .errors()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  while (read().length < 2) await Bun.sleep(20)
  const lines = read()
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  expect(lines).toContainEqual(expect.objectContaining({ time, level: 'info', requestId: 'mine' }))
  const message = expect.stringContaining('none.xml')
  expect(lines).toContainEqual({ time, level: 'error', message })
  await server.kill()
  rmSync(folder, { recursive: true })
}, 300_000)
