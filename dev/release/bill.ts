/**
 * The contents of a release: a CycloneDX document and the texts of licences, from the lock file and
 * the installed packages. The same files always give the same documents; no network is used.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Locked = [id: string, registry: string, facts: Facts, integrity?: string]
type Facts = { dependencies?: Names; optionalDependencies?: Names; os?: unknown; cpu?: unknown }
type Names = Record<string, string>
export type Lock = {
  workspaces: { '': { dependencies: Names } }
  packages: Record<string, Locked>
}
export type Part = {
  name: string
  version: string
  /** SPDX expression of the author; empty if there is none. */
  licence: string
  text: string
  sha512: string
}

/** Licences that only require their notice. */
const allowed = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
]
allowed.push('MIT', 'MIT-0', 'Unlicense')

/**
 * Paths in the lock file of all packages that the service needs, by name; a path is a list of
 * names.
 */
function placesOf({ workspaces, packages }: Lock): string[] {
  const found = new Set<string>()
  const add = (name: string, from: string): void => {
    let place = name
    for (let base = from; base !== ''; base = base.slice(0, Math.max(0, base.lastIndexOf('/')))) {
      if (packages[`${base}/${name}`] === undefined) continue
      place = `${base}/${name}`
      break
    }
    const locked = packages[place]
    if (locked === undefined || found.has(place)) return
    found.add(place)
    const { dependencies, optionalDependencies } = locked[2]
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) add(each, place)
  }
  for (const name of Object.keys(workspaces[''].dependencies)) add(name, '')
  return [...found].sort()
}

/** Folder of a path: `a/@b/c` is `a/node_modules/@b/c`. */
const folderOf = (root: string, place: string): string =>
  join(root, ...(place.match(/(@[^/]+\/)?[^/]+/g) ?? []).flatMap((name) => ['node_modules', name]))

const isLicence = (name: string): boolean => /^(licen[cs]e|copying|notice)/i.test(name)

function readPart(root: string, lock: Lock, place: string): Part | undefined {
  const [id = '', , facts, integrity = ''] = lock.packages[place] ?? []
  const at = id.lastIndexOf('@')
  const folder = folderOf(root, place)
  // Packages for other systems are not in the release.
  const isOfSystem = facts?.os !== undefined || facts?.cpu !== undefined
  if (isOfSystem && !existsSync(folder)) return undefined
  const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const texts = readdirSync(folder).filter(isLicence).sort()
  return {
    name: id.slice(0, at),
    version: id.slice(at + 1),
    licence: typeof license === 'string' ? license : '',
    text: texts.map((name) => readFileSync(join(folder, name), 'utf8').trim()).join('\n\n'),
    sha512: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
  }
}

export function listParts(root: string): Part[] {
  const lock = Bun.JSONC.parse(readFileSync(join(root, 'bun.lock'), 'utf8')) as Lock
  const parts = placesOf(lock).flatMap((place) => readPart(root, lock, place) ?? [])
  // Two packages may each have the same dependency of their own.
  return [...new Map(parts.map((part) => [`${part.name} ${part.version}`, part])).values()]
}

/** True if one of the alternatives (`OR`) has only allowed licences (`AND`). */
const isAllowed = (licence: string): boolean =>
  licence
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((each) => each.split(' AND ').every((name) => allowed.includes(name.trim())))

/** Packages whose licences are not allowed. */
export const faultsOf = (parts: readonly Part[]): string[] =>
  parts
    .filter(({ licence }) => !isAllowed(licence))
    .map(({ name, version, licence }) => `${name} ${version}: ${licence || 'no licence'}`)

export function toCycloneDx(project: { version: string; runtime: string }, parts: readonly Part[]) {
  const purl = ({ name, version }: Part) => `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', name: 'bookfeed', version: project.version },
    },
    components: [
      {
        type: 'platform',
        name: 'bun',
        version: project.runtime,
        licenses: [{ expression: 'MIT AND LGPL-2.0-or-later' }],
      },
      ...parts.map((part) => ({
        type: 'library',
        'bom-ref': purl(part),
        name: part.name,
        version: part.version,
        purl: purl(part),
        licenses: [{ expression: part.licence }],
        hashes: [{ alg: 'SHA-512', content: part.sha512 }],
      })),
    ],
  }
}

const runtimeNotice = (
  version: string,
): string => `Bun ${version} (MIT), https://bun.sh/docs/project/license

The executable and the image contain the runtime Bun, which is statically linked with JavaScriptCore
and WebKit (LGPL-2.0-or-later). Its address above has their source and says how to build Bun with
another version of them; dev/release/build.ts of this project then makes an executable with it.`

export function toNotices(runtime: string, parts: readonly Part[]): string {
  const texts = parts.map(({ name, version, licence, text }) =>
    [`${name} ${version} (${licence})`, text].filter(Boolean).join('\n\n'),
  )
  return `${[runtimeNotice(runtime), ...texts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

if (import.meta.main) {
  const root = new URL('../..', import.meta.url).pathname
  const parts = listParts(root)
  const faults = faultsOf(parts)
  if (faults.length > 0) throw new Error(`Licences that are not allowed: ${faults.join('; ')}`)
  const { version, engines } = await Bun.file(join(root, 'package.json')).json()
  const bill = toCycloneDx({ version, runtime: engines.bun }, parts)
  await Bun.write(join(root, 'dist/bookfeed.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`)
  await Bun.write(join(root, 'dist/licences.txt'), toNotices(engines.bun, parts))
  process.stdout.write(`dist/bookfeed.cdx.json, dist/licences.txt: ${parts.length} packages\n`)
}
