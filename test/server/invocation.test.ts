import { expect, test } from 'bun:test'

import { describeInvocation } from '#src/server/invocation.ts'

const started: Parameters<typeof describeInvocation>[0] = {
  runtime: '/bin/bun',
  script: '/srv/bookfeed/src/main.ts',
  executable: undefined,
  folder: '/srv/bookfeed',
  isBunx: false,
  version: '1.4.5',
  which: (name: string) => (name === 'bun' ? '/bin/bun' : null),
  realpath: (path: string) =>
    path.replace('.bin/bookfeed', 'bookfeed/src/main.ts').replace('.bin/bun', 'bun/bin/bun.exe'),
}
const runtime = '/tmp/1/node_modules/bun/bin/bun.exe'
const bunOf = (path: string) => ({
  runtime,
  which: (name: string) => (name === 'bun' ? path : null),
})
const installed = '/srv/app/node_modules/.bin/bookfeed'
const script = '/srv/app/node_modules/bookfeed/src/main.ts'
const executable = '/opt/bookfeed'

test.each<[string, Partial<typeof started>, string]>([
  ['a checkout', {}, 'bun src/main.ts'],
  ['a checkout, from elsewhere', { folder: '/srv/it' }, 'bun ../bookfeed/src/main.ts'],
  ['a runtime that no shell finds', { runtime: '/a b/bun' }, "'/a b/bun' src/main.ts"],
  ['npx of the runtime', bunOf('/tmp/1/node_modules/.bin/bun'), 'npx -y bun@1.4.5 src/main.ts'],
  ['a link to the runtime', { ...bunOf('/bin/bun'), realpath: () => runtime }, 'bun src/main.ts'],
  ['npx', { script, which: () => installed }, 'npx bookfeed'],
  ['bunx', { script, which: () => installed, isBunx: true }, 'bunx bookfeed'],
  ['an executable beside', { executable, folder: '/opt' }, './bookfeed'],
  ['an executable elsewhere', { executable, folder: '/opt/a' }, '../bookfeed'],
  ['an executable that the shell finds', { executable, which: () => executable }, 'bookfeed'],
  [
    'another one that the shell finds',
    { executable, folder: '/', which: () => '/x' },
    'opt/bookfeed',
  ],
])('default: %s', (_, changes, invocation) => {
  expect(describeInvocation({ ...started, ...changes })).toBe(invocation)
})
