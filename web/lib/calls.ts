/** A request of the page as others would write it. The key is never in it, but in `KEY`. */

import { type QueryValues, urlOf } from './api.ts'

export type Call = { path: string; query?: QueryValues }
export const languages = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof languages)[number]

/**
 * One program for several calls: each answer has the name of its route. `token` is what it sends;
 * undefined is the key that the environment has in `KEY`.
 */
export function toCode(
  calls: readonly Call[],
  language: Language,
  token: string | undefined,
): string {
  const hasKey = token === undefined
  const asked = calls.map(({ path, query }) => ({
    url: `${location.origin}${urlOf(path, query)}`,
    name: path.slice(path.lastIndexOf('/') + 1),
  }))
  if (language === 'curl') {
    const header = hasKey ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${token}'`
    const lines = asked.map(({ url }) => `curl --compressed -H ${header} \\\n  '${url}'`)
    return lines.join('\n\n')
  }
  if (language === 'TypeScript') {
    const value = hasKey ? "'Bearer ' + process.env.KEY" : `'Bearer ${token}'`
    const lines = asked.map(({ url, name }) => `const ${name} = await read(\n  '${url}',\n)`)
    return `async function read(url: string) {\n  const response = await fetch(url, { headers: { Authorization: ${value} } })\n  const body = await response.json()\n  if (!response.ok) throw new Error(body.detail)\n  return body\n}\n\n${lines.join('\n')}`
  }
  const value = hasKey ? `"Bearer " + os.environ["KEY"]` : `"Bearer ${token}"`
  const imports = hasKey ? 'import json, os, urllib.request' : 'import json, urllib.request'
  const lines = asked.map(({ url, name }) => `${name} = read(\n    "${url}"\n)`)
  return `${imports}\n\ndef read(url):\n    request = urllib.request.Request(url, headers={"Authorization": ${value}})\n    with urllib.request.urlopen(request) as response:\n        return json.load(response)\n\n${lines.join('\n')}`
}
