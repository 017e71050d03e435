/** Requests of the page as programs, which read the key from the variable `KEY`. */

import { type QueryValues, urlOf } from './api.ts'

export type Call = { path: string; query?: QueryValues }
/** A request of any kind. */
export type ApiRequest = Call & {
  method: string
  /** The JSON text that is sent. */
  body?: string
  /** True if the response is not JSON. */
  isFile: boolean
}
export const languages = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof languages)[number]

/**
 * One program for several calls: each answer has the name of its route. `token` is the one to send;
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

const JSON_TYPE = 'application/json'

/** One request of any kind as a program. `token` as for `toCode`. */
export function toRequestCode(
  { path, query, method, body, isFile }: ApiRequest,
  language: Language,
  token: string | undefined,
): string {
  const url = `${location.origin}${urlOf(path, query)}`
  const hasBody = body !== undefined
  if (language === 'curl') {
    const key =
      token === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${token}'`
    return [
      `curl --compressed${method === 'GET' ? '' : ` -X ${method}`} -H ${key}`,
      ...(hasBody
        ? [`-H 'Content-Type: ${JSON_TYPE}'`, `-d '${body.replaceAll("'", `'\\''`)}'`]
        : []),
      `'${url}'`,
    ].join(' \\\n  ')
  }
  if (language === 'TypeScript') {
    const key = token === undefined ? "'Bearer ' + process.env.KEY" : `'Bearer ${token}'`
    const type = hasBody ? `, 'Content-Type': '${JSON_TYPE}'` : ''
    return [
      `const response = await fetch('${url}', {`,
      ...(method === 'GET' ? [] : [`  method: '${method}',`]),
      `  headers: { Authorization: ${key}${type} },`,
      ...(hasBody ? [`  body: JSON.stringify(${body}),`] : []),
      '})',
      'if (!response.ok) throw new Error((await response.json()).detail)',
      `const answer = await response.${isFile ? 'blob' : 'json'}()`,
    ].join('\n')
  }
  const key = token === undefined ? `"Bearer " + os.environ["KEY"]` : `"Bearer ${token}"`
  const type = hasBody ? `, "Content-Type": "${JSON_TYPE}"` : ''
  return [
    `import json, os, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    "${url}",`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    `    headers={"Authorization": ${key}${type}},`,
    ...(hasBody ? [`    data=r'''${body}'''.encode(),`] : []),
    ')',
    'with urllib.request.urlopen(request) as response:',
    `    answer = ${isFile ? 'response.read()' : 'json.load(response)'}`,
  ].join('\n')
}
