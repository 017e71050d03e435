/** The configuration with the variables of all extensions. */
import * as core from '#src/config/config.ts'
import { extensions } from '#src/extensions.ts'
import { variablesOf } from '#src/server/extension.ts'

const ofExtensions = variablesOf(extensions)

export const configVariables = core.listVariables(ofExtensions)

export const readConfig = (
  env: Record<string, string | undefined>,
): core.Config & Readonly<Record<string, unknown>> => core.readConfig(env, ofExtensions) as never
