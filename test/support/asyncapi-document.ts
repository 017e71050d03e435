/** The served AsyncAPI document, and validation of messages against it. */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'

import { createHarness } from './harness.ts'

type Schema = {
  $ref?: string
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
}
export type StreamDocument = {
  channels: { stream: { address: string; messages: Record<string, { $ref: string }> } }
  operations: Record<string, { action: 'send' | 'receive'; messages: { $ref: string }[] }>
  components: {
    messages: Record<string, { name: string; payload: Schema }>
    schemas: Record<string, Schema>
  }
}

/** Keywords with `x-` are ours. */
export const createAjv = () => addFormats(new Ajv({ strict: false, allErrors: true }))

export async function readStreamDocument() {
  const response = await createHarness().send('/asyncapi.json')
  const document = (await response.json()) as StreamDocument
  const ajv = createAjv().addSchema({ $id: 'stream', ...document })
  const { messages } = document.components

  /** Members of a message that no variant of it has. */
  function strangersIn(schema: Schema | undefined, message: object): string[] {
    const variants = schema?.anyOf ?? (schema ? [schema] : [])
    const known = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)))
    return Object.keys(message).filter((member) => !known.has(member))
  }

  /** Faults of a message, by the name of its description; empty if there are none. */
  function faultsOf(name: string, message: object): string[] {
    const described = messages[name]
    if (described === undefined) return [`there is no message ${name}`]
    const validate = ajv.getSchema(`stream#/components/messages/${name}/payload`)
    const faults = validate?.(message) ? [] : [ajv.errorsText(validate?.errors)]
    // Additional members of a code, such as `retryAfterSeconds`.
    const more = message && 'code' in message ? [] : strangersIn(described.payload, message)
    return [...faults, ...more.map((member) => `${member} is not documented`)]
  }
  return { document, faultsOf }
}
