/** What a document of ours may say of a text, so that TypeBox can check answers against schemas. */
import { FormatRegistry } from '@sinclair/typebox'

FormatRegistry.Set('date-time', (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text))
FormatRegistry.Set('date', (text) => /^\d{4}-\d\d-\d\d$/.test(text))
