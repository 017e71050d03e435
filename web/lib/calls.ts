/** A request of the page as others would write it. The key is never in it. */

import { type QueryValues, urlOf } from './api.ts'

export type Call = { path: string; query?: QueryValues }
export const languages = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof languages)[number]

export function toCode({ path, query }: Call, language: Language, hasKey: boolean): string {
  const url = `${location.origin}${urlOf(path, query)}`
  if (language === 'curl') {
    const header = hasKey
      ? '"Authorization: Bearer $BOOKFEED_KEY"'
      : "'Authorization: Bearer sample'"
    return `curl --compressed -H ${header} \\\n  '${url}'`
  }
  if (language === 'TypeScript') {
    const token = hasKey ? "'Bearer ' + process.env.BOOKFEED_KEY" : "'Bearer sample'"
    return `const response = await fetch('${url}', {\n  headers: { Authorization: ${token} },\n})\nif (!response.ok) throw new Error((await response.json()).detail)\nconst body = await response.json()`
  }
  const token = hasKey ? `"Bearer " + os.environ["BOOKFEED_KEY"]` : '"Bearer sample"'
  const imports = hasKey ? 'import json, os, urllib.request' : 'import json, urllib.request'
  return `${imports}\n\nrequest = urllib.request.Request(\n    "${url}",\n    headers={"Authorization": ${token}},\n)\nwith urllib.request.urlopen(request) as response:\n    body = json.load(response)`
}
