import { describe, expect, test } from 'bun:test'

import { greet, type Greeting } from '#src/cli/greeting.ts'

import { fakeHistory } from '../support/fake-history.ts'

const KEY = `bf_live_${'a'.repeat(33)}`

const greeting = (changes: Partial<Greeting> = {}): string[] =>
  greet({
    url: new URL('http://127.0.0.1:1'),
    history: fakeHistory(),
    localKey: undefined,
    makeKey: 'bun src/main.ts keys create --tier enterprise',
    signup: { isOpen: true },
    payments: 'Payments: none.',
    ...changes,
  })

describe('greet', () => {
  test('default: with a key of this start, the commands carry it', () => {
    const lines = greeting({ localKey: KEY })
    const commands = lines.filter((line) => line.startsWith('  curl '))
    expect(commands[0]).toStartWith(`  curl -H 'Authorization: Bearer ${KEY}' 'http`)
    expect(lines.join('\n')).toContain('at this start only')
    expect(lines.join('\n')).not.toContain('keys create')
  })

  test('behavior: without one, they take $KEY and say how to make another', () => {
    const lines = greeting()
    expect(lines).toContain('  KEY=$(bun src/main.ts keys create --tier enterprise)')
    const commands = lines.filter((line) => line.startsWith('  curl '))
    expect(commands[0]).toStartWith('  curl -H "Authorization: Bearer $KEY" \'http')
    expect(lines.join('\n')).not.toContain('bf_live_')
    // A variable of that beginning would be refused by the configuration.
    expect(lines.join('\n')).not.toContain('$BOOKFEED_')
  })

  test('behavior: one line on signup, with the reason if it is closed', () => {
    expect(greeting()).toContain('Signup is open.')
    const closed = greeting({ signup: { isOpen: false, reason: 'because.' } })
    expect(closed.filter((line) => line.startsWith('Signup'))).toEqual([
      'Signup is closed: because.',
    ])
  })

  test('behavior: one line on payments', () => {
    expect(greeting().filter((line) => line.startsWith('Payments'))).toEqual(['Payments: none.'])
  })

  test('behavior: a server on every interface is named so that it can be reached', () => {
    expect(greeting({ url: new URL('http://0.0.0.0:80') })[0]).toBe(
      'bookfeed listens on http://localhost',
    )
  })
})
